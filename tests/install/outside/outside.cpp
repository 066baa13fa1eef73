// outside.cpp - the same program, read as C++.
#include "outside.c"
