// What the programs of the rows U3 to U5 say of themselves.
#ifndef CSTART_H
#define CSTART_H

/// Notes the time. Call it first in main.
void start_begin(void);
/// The first action: notes the time, and wakes `start_end`.
void start_action(void);
/// Waits for the first action. Prints the nanoseconds from `start_begin` to it, and the peak of the resident memory in
/// kB.
void start_end(void);

#endif
