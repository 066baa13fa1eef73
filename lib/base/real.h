/* real.h - elementary functions of doubles; with SLEEF they return the same bits everywhere
   (real.c). Any thread may call them. */
#ifndef RAPT_LIB_REAL_H
#define RAPT_LIB_REAL_H

void rapt__sincos(double x, double *sine, double *cosine);
double rapt__exp(double x);
double rapt__log(double x);
double rapt__pow(double x, double y);

#endif
