/* control.c - a data race that ThreadSanitizer must report and barriers that it must understand.
   "race" adds to one sum from all members of a team without synchronization; "barrier" passes the
   sum on through barriers. */
#include "base/base.h"
#include <stdio.h>
#include <string.h>

struct sum {
    int racing, members;
    long value;
};

static void add(struct team *team, void *argument)
{
    struct sum *sum = argument;

    if (team->rank == 0) sum->members = team->size;
    for (int step = 0; step < team->size; step++) {
        if (sum->racing || step == team->rank) sum->value += team->rank + 1;
        if (!sum->racing) rapt__team_barrier(team);
    }
}

int main(int count, char **words)
{
    struct sum sum = {.racing = count > 1 && strcmp(words[1], "race") == 0};

    rapt__team_run(4, add, &sum);
    printf("%ld\n", sum.value);
    return sum.members < 2 || (!sum.racing && sum.value != sum.members * (sum.members + 1) / 2);
}
