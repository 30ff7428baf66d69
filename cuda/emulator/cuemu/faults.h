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
const int WATCHDOG_STATUS = 98;            // of a program under `triad check` that a launch hangs

// memory.cc: device memory is out of the host's reach while a launch function runs, as it is on a GPU: kernels and copies open it. Managed memory
// stays open.
void close_device_memory();
void open_device_memory();
void share_with_host(void *data);          // makes a buffer managed memory

// While it lives, device memory is open.
class DeviceMemory {
public:
	DeviceMemory();
	~DeviceMemory();
	DeviceMemory(const DeviceMemory &) = delete;
	DeviceMemory &operator=(const DeviceMemory &) = delete;

private:
	bool was_closed;
};

}  // namespace cuemu

#endif
