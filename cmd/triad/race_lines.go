package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/run"
)

// raceLines finds the two lines of a race that a comparison in the emulator saw as different bits: it repeats
// the call in a build that reports every access.
type raceLines struct {
	calls  *watchedCalls
	folder string // the folder that names of files are relative to

	mutex sync.Mutex
	known map[string]*run.Race // by implementation and pass; nil: none was found
}

// newRaceLines returns raceLines for the comparisons of a session.
func newRaceLines(calls *watchedCalls) *raceLines {
	return &raceLines{calls: calls, folder: workingFolder(), known: map[string]*run.Race{}}
}

// watchedCalls returns calls for a comparison, with less time for them than a check has.
func (a *app) watchedCalls() *watchedCalls {
	o := &checkOptions{}
	o.run, o.stall, o.all = 20*time.Second, 10*time.Second, 20*time.Second
	return &watchedCalls{builder: a.programBuilder, options: o}
}

// workingFolder returns the working directory of this process; "" if it is not known, and files keep their
// full names.
func workingFolder() string {
	folder, err := os.Getwd()
	if err != nil {
		return ""
	}
	return folder
}

// cudaFileOf returns the kernel file, as cuda.Builder names it, with the implementation of a job; "" if it is
// not CUDA.
func cudaFileOf(b backend.Backend, job backend.Job) string {
	if own, is := backend.As[interface{ CUDAFile(string) string }](b); is {
		return own.CUDAFile(job.Implementation.Name)
	}
	return job.Implementation.Op
}

// calledIn returns a job as the library of its file gets it; false if the file declines it.
func calledIn(b backend.Backend, job backend.Job) (backend.Job, bool) {
	own, is := backend.As[interface {
		Called(job backend.Job) (called backend.Job, declined string)
	}](b)
	if !is {
		return job, true
	}
	called, declined := own.Called(job)
	return called, declined == ""
}

// find returns the race of an implementation, which it searches on the first call that had one; nil if it
// finds none, as where sums by atomic operations differ. The search costs a build, and its failure is no
// error.
func (l *raceLines) find(ctx context.Context, b backend.Backend, job backend.Job) *run.Race {
	file := cudaFileOf(b, job)
	job, takes := calledIn(b, job)
	if job.Implementation.Device != "emulator" || file == "" || !takes {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := fmt.Sprint(job.Implementation.Name, " ", job.Implementation.Pass)
	if race, known := l.known[key]; known {
		return race
	}
	found, err := l.calls.run(ctx, file, job, check.Orders[:1])
	if err != nil {
		return nil
	}
	placed := func(p *check.Place) bool { return p != nil && p.Line > 0 }
	i := slices.IndexFunc(found.Findings, func(f check.Finding) bool {
		return f.Kind == check.Race && placed(f.Place) && placed(f.Other)
	})
	l.known[key] = nil
	if i >= 0 {
		f := &found.Findings[i]
		l.known[key] = &run.Race{
			Where: backend.Where{
				Kernel: f.Kernel, Block: f.Block, Thread: f.Thread, File: f.Place.File, Line: f.Place.Line,
			},
			Sentence: fmt.Sprintf("nothing orders the %s at %s:%d and the %s at %s:%d", f.Access,
				check.Relative(l.folder, f.Place.File), f.Place.Line, f.OtherAccess,
				check.Relative(l.folder, f.Other.File), f.Other.Line),
		}
	}
	return l.known[key]
}
