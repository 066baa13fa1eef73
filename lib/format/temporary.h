/* temporary.h - temporary files in the folder of the file that they are to replace. */
#ifndef RAPT_LIB_FORMAT_TEMPORARY_H
#define RAPT_LIB_FORMAT_TEMPORARY_H

#include <sys/types.h>

enum { TEMPORARY_NAME = 48 }; /* bytes of a name with its 0 */

/* folder: an open folder, to be written to until it is closed. Removes what killed writers left in
   it, unless somebody else writes there now, and keeps others from removing our own. Where this
   cannot be done, it is not: never a failure. */
void rapt__temporary_enter(int folder);

/* Creates an empty file in the folder under a name of its own; -1: errno says why. */
int rapt__temporary_create(int folder, mode_t permissions, char name[TEMPORARY_NAME]);

#endif
