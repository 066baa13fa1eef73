/* sound.c - draws words and turns them into frames of a noisy spectrum. */
#include "sound.h"
#include <math.h>

int sound_rows(const struct sound *sound)
{
    return (sound->frames + STACK - 1) / STACK;
}

/* Two peaks over the bands, similar to the formants of vowels. */
static float loudness(int letter, int band)
{
    const float low = 1 + 1.3F * (float)(letter % 4), high = 7 + 2.5F * (float)(letter / 4);
    const float a = ((float)band - low) / 0.9F, b = ((float)band - high) / 0.9F;
    return expf(-a * a / 2) + expf(-b * b / 2);
}

/* No letter follows itself, since two short ones could not be told from a long one. */
void sound_draw(struct sound *s, struct random *random, const int range[2])
{
    s->count = range[0] + random_below(random, range[1] - range[0] + 1);
    s->frames = 0;
    for (int i = 0; i < s->count; i++) {
        do s->letter[i] = random_below(random, LETTERS);
        while (i > 0 && s->letter[i] == s->letter[i - 1]);
        int left = SHORTEST + random_below(random, LONGEST - SHORTEST + 1);
        for (; left > 0; left--, s->frames++) {
            s->of[s->frames] = i;
            for (int b = 0; b < BANDS; b++)
                s->band[s->frames][b] = loudness(s->letter[i], b) + 0.2F * random_normal(random);
        }
    }
}
