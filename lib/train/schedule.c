/* schedule.c - computes the learning rate of step 1, 2, ...

   The inverse square root schedule, rate * min(step / warmup, sqrt(warmup / step)), is eq. 3 of
   Vaswani et al. 2017 if rate = (width * warmup)^-1/2. */
#include "train/train.h"

#include <math.h>

float rapt__schedule_rate(const rapt_train_options *o, float rate, long long step)
{
    double s = (double)step, warmup = o->warmup > 0 ? o->warmup : 1;
    if (o->warmup > 0 && s <= warmup) return (float)(rate * s / warmup);
    if (o->schedule == RAPT_SCHEDULE_INVERSE_SQRT) return (float)(rate * sqrt(warmup / s));
    if (o->schedule == RAPT_SCHEDULE_LINEAR) {
        double left = o->steps > warmup ? (o->steps - s) / (o->steps - warmup) : 0;
        return (float)(rate * (left > 0 ? left : 0));
    }
    return rate;
}
