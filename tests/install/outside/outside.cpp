// outside.cpp - the same program, compiled as C++.
#include "outside.c"
