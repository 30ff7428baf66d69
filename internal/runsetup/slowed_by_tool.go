package runsetup

import (
	"time"

	"triad/internal/subprocess"
	"triad/internal/worker"
)

// SlowedByTool extends the time limits of workers under a tool, which writes the end of its findings after
// the worker has ended.
func SlowedByTool(o *worker.Options) {
	l := &o.Limits
	for _, limit := range []*time.Duration{&l.Build, &l.Import, &l.First, &l.CallLeast} {
		*limit *= toolSlowness
	}
	o.Grace = subprocess.Grace{Term: time.Minute, Kill: 10 * time.Second}
}

// toolSlowness is the factor by which a worker may be slower under one of NVIDIA's tools.
const toolSlowness = 20
