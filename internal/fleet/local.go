package fleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"triad/internal/subprocess"
)

// Local is the engine that runs shards on the GPUs of this machine, one at a time on each: a process of its
// own that sees only this GPU, with its share of the cores.
type Local struct {
	Triad string
	GPUs  []string // what CUDA_VISIBLE_DEVICES is for each
	Cores int      // of a process
	// the shard that has all GPUs and their cores, when no other runs; 0: none
	Spread int

	queue   []int          // shards that wait for a GPU
	running []*localTask   // by GPU; nil: it is free
	ended   map[int]string // how the newest task of a shard ended
	folder  Folder
}

type localTask struct {
	shard   int
	process *subprocess.Process
	log     *os.File
}

// Submit puts shards into the queue, and starts those for which a GPU is free.
func (l *Local) Submit(_ context.Context, folder Folder, shards []int) error {
	if l.running == nil {
		l.running, l.ended = make([]*localTask, len(l.GPUs)), map[int]string{}
	}
	l.folder, l.queue = folder, append(l.queue, shards...)
	return l.fill()
}

// fill starts waiting shards on GPUs that are free; that which has all of them when no other runs or waits.
func (l *Local) fill() error {
	busy, alone := false, false
	for at, task := range l.running {
		if task != nil && task.process.Reaped() {
			how, _ := task.process.Exit()
			l.ended[task.shard] = "its process " + how
			task.log.Close()
			l.running[at], task = nil, nil
		}
		busy, alone = busy || task != nil, alone || task != nil && task.shard == l.Spread
	}
	for at := range l.running {
		next := slices.IndexFunc(l.queue, func(shard int) bool { return shard != l.Spread })
		gpus := l.GPUs[at]
		if next < 0 && len(l.queue) > 0 && !busy {
			next, gpus, alone = 0, strings.Join(l.GPUs, ","), true
		} else if alone {
			return nil
		}
		if next < 0 || l.running[at] != nil {
			continue
		}
		shard := l.queue[next]
		l.queue = slices.Delete(l.queue, next, next+1)
		started, err := l.start(shard, gpus)
		if err != nil {
			return err
		}
		delete(l.ended, shard)
		l.running[at], busy = started, true
	}
	return nil
}

func (l *Local) start(shard int, gpu string) (*localTask, error) {
	log, err := os.OpenFile(l.Log(l.folder, shard), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start a part on GPU %s: %w", gpu, err)
	}
	env := slices.DeleteFunc(os.Environ(), func(word string) bool {
		return strings.HasPrefix(word, "CUDA_VISIBLE_DEVICES=") || strings.HasPrefix(word, "GOMAXPROCS=")
	})
	cores := l.Cores
	if shard == l.Spread {
		cores *= len(l.GPUs)
	}
	env = append(env, "CUDA_VISIBLE_DEVICES="+gpu, "GOMAXPROCS="+strconv.Itoa(cores))
	process, err := subprocess.Start(subprocess.Command{
		Path: l.Triad, Args: []string{"part", string(l.folder), strconv.Itoa(shard)}, Env: env,
		Stdout: log, Stderr: log,
	})
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start a part on GPU %s: %w", gpu, err)
	}
	return &localTask{shard, process, log}, nil
}

// Gone lists the shards whose process has ended.
func (l *Local) Gone(_ context.Context, shards []int) (map[int]string, error) {
	if err := l.fill(); err != nil {
		return nil, err
	}
	gone := map[int]string{}
	for _, shard := range shards {
		if how, ended := l.ended[shard]; ended {
			gone[shard] = how
		}
	}
	return gone, nil
}

// Log returns the path of the log of a shard's process.
func (l *Local) Log(folder Folder, shard int) string { return folder.in("log-%d.txt", shard) }

// Cancel asks the processes to end; queued ones are not started.
func (l *Local) Cancel(_ context.Context, atOnce bool) error {
	for _, shard := range l.queue {
		l.ended[shard] = "it was not begun"
	}
	l.queue = nil
	for _, task := range l.running {
		switch {
		case task == nil:
		case atOnce:
			task.process.End()
		default:
			task.process.Ask()
		}
	}
	return nil
}
