// Faults: the signal handler that turns a bad access into a report. It stands only while a launch runs.
#ifndef CUEMU_FAULTS_H
#define CUEMU_FAULTS_H

#include <atomic>

#include "host.h"

namespace cuemu {

void protect_begin();                      // install the handlers, remember what was there
void protect_end();                        // put it back
bool use_signal_stack();                   // give the calling thread a signal stack of its own
void locate(cuemu_report *r);              // pc_module and pc_offset of the fault, if there was one
extern std::atomic<bool> watchdog_fired;

}  // namespace cuemu

#endif
