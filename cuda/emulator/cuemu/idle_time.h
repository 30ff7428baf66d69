// How long a launch stands still: what the watchdog decides by.
#pragma once
#include "cuemu/scheduler.h"

namespace cuemu {

const unsigned MAX_WORKERS = 256;
extern Worker *workers[MAX_WORKERS];            // workers[0] launches, the others help
extern std::atomic<unsigned> worker_count;

// A launch stands still for as long as one of its threads has computed, in time of its own on a processor, or for as long as all of them have
// slept, in turns or in a row. A thread that only waits for a processor which others have does neither: a loaded machine is no hang.
class IdleTime {
 public:
	// after is called more often than this. Of a longer time, in which the caller did not run either, no more counts: what the threads are seen to do
	// at its end says little of it.
	static constexpr double MOST_SECONDS = 0.1;
	void moved();                               // the launch moves on now
	double after(double seconds);               // so much later by the clock: how long it has stood still since it moved

 private:
	double begun[MAX_WORKERS];                  // processor time of each worker when the launch moved
	double computed, asleep;                    // seconds, by all of them
};

}  // namespace cuemu
