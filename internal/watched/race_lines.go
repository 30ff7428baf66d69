package watched

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"triad/internal/backend"
	"triad/internal/check"
)

// RaceLines finds the two lines of a race that a comparison in the emulator saw as different bits: it repeats
// the call in a build that reports every access.
type RaceLines struct {
	calls  *Calls
	folder string // the folder that names of files are relative to

	mutex sync.Mutex
	known map[string]*Race // by implementation and pass; nil: none was found
}

// Race is a race with its two lines.
type Race struct {
	Where    backend.Where
	Sentence string
}

// NewRaceLines returns RaceLines for the comparisons of a session.
func NewRaceLines(calls *Calls) *RaceLines {
	return &RaceLines{calls: calls, folder: check.WorkingFolder(), known: map[string]*Race{}}
}

// Find returns the race of an implementation, which it searches on the first call that had one; nil if it
// finds none, as where sums by atomic operations differ. The search costs a build, and its failure is no
// error.
func (l *RaceLines) Find(ctx context.Context, b backend.Backend, job backend.Job) *Race {
	file := CUDAFileOf(b, job)
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
		l.known[key] = &Race{
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
