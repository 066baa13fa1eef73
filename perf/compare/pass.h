/* pass.h - the passes of a linear layer, for ours.c and onednn.c; ours.py names them in this order.
   x [rows][in], y [rows][out], W [out][in]. */
#ifndef RAPT_PERF_PASS_H
#define RAPT_PERF_PASS_H

enum pass { FORWARD, INPUT, WEIGHTS }; /* y = x W'; x = y W; W += y' x */

#endif
