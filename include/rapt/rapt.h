/* rapt.h - includes every public header. */
#ifndef RAPT_H
#define RAPT_H

#include "attention.h"
#include "base.h"
#include "block.h"
#include "config.h"
#include "distances.h"
#include "document.h"
#include "encoder.h"
#include "file.h"
#include "generate.h"
#include "glossary.h"
#include "linear_attention.h"
#include "metrics.h"
#include "monotonic_attention.h"
#include "precision.h"
#include "shortlist.h"
#include "text.h"
#include "train.h"
#include "transformer.h"
#include "translator.h"

#endif
