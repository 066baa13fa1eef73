/* quiet.h - how many messages a program would have printed so far (quiet.c). */
#ifndef RAPT_TESTS_FUZZ_QUIET_H
#define RAPT_TESTS_FUZZ_QUIET_H

extern long messages;

#endif
