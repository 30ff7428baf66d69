// Package exercise holds the exercises of triad learn: one idea each, in the order in which to learn them.
// An exercise is a folder of exercises/OPERATOR/NAME with a starter, a solution, a typical wrong version and
// a page; order.txt lists them with their days. Nothing about an exercise is written in Go.
package exercise

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agext/levenshtein"
	"github.com/pelletier/go-toml/v2"

	"triad/internal/op"
)

//go:embed exercises
var files embed.FS

// Exercise is one exercise.
type Exercise struct {
	Name  string  // "softmax/warp"
	Op    string  // "softmax"
	Day   int     // of a hundred, from 1
	Idea  string  // in a few words: "warp shuffles"
	Task  string  // the task of a hundred-day challenge that it is; "" for most
	Pass  op.Pass // which is judged
	File  string  // the name of the learner's file: "softmax_warp.cu"
	Watch string  // what to do, and what to watch for
	// Mistake describes the bug of the wrong version, for maintainers.
	Mistake string

	Starter, Solution, Wrong string // sources
}

// page is exercise.toml.
type page struct {
	Idea  string  `toml:"idea"`
	Task  string  `toml:"task"`
	Pass  op.Pass `toml:"pass"`
	Watch string  `toml:"watch"`

	Mistake string `toml:"mistake"`
}

// All returns the exercises, in the order in which to do them.
var All = sync.OnceValues(func() ([]Exercise, error) { return read(files) })

// read reads the exercises of a file system.
func read(from fs.FS) ([]Exercise, error) {
	order, err := fs.ReadFile(from, "exercises/order.txt")
	if err != nil {
		return nil, err
	}
	var all []Exercise
	for line := range strings.Lines(string(order)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("exercises/order.txt: the line %q: want DAY OPERATOR/NAME", line)
		}
		day, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, fmt.Errorf("exercises/order.txt: the line %q: %w", line, err)
		}
		e, err := readOne(from, fields[1])
		if err != nil {
			return nil, err
		}
		e.Day = day
		all = append(all, e)
	}
	return all, nil
}

// readOne reads the folder of an exercise.
func readOne(from fs.FS, name string) (Exercise, error) {
	folder := path.Join("exercises", name)
	e := Exercise{Name: name, Op: path.Dir(name)}
	text, err := fs.ReadFile(from, path.Join(folder, "exercise.toml"))
	if err != nil {
		return e, err
	}
	p := page{Pass: op.Forward}
	if err := toml.Unmarshal(text, &p); err != nil {
		return e, fmt.Errorf("%s/exercise.toml: %w", folder, err)
	}
	e.Idea, e.Task, e.Pass, e.Mistake, e.Watch = p.Idea, p.Task, p.Pass, p.Mistake, strings.TrimSpace(p.Watch)
	starters, err := fs.Glob(from, path.Join(folder, "starter.*"))
	if err != nil || len(starters) != 1 {
		return e, fmt.Errorf("%s has %d starters, want one: %v", folder, len(starters), err)
	}
	ending := path.Ext(starters[0])
	e.File = strings.ReplaceAll(name, "/", "_") + ending
	for _, part := range []struct {
		name string
		into *string
	}{{"starter", &e.Starter}, {"solution", &e.Solution}, {"wrong", &e.Wrong}} {
		source, err := fs.ReadFile(from, path.Join(folder, part.name+ending))
		if err != nil {
			return e, err
		}
		*part.into = string(source)
	}
	return e, nil
}

// Find returns the exercise of a name, or the exercises of an operator.
func Find(all []Exercise, name string) []Exercise {
	var found []Exercise
	for _, e := range all {
		if e.Name == name || e.Op == name || e.File == name {
			found = append(found, e)
		}
	}
	return found
}

// mostTypos is the largest distance, in inserted, deleted and replaced characters, of a name from the
// intended one.
const mostTypos = 2

// Nearest returns the name of an exercise or an operator that was probably meant; "" if none is near.
func Nearest(all []Exercise, name string) (nearest string) {
	least := mostTypos + 1
	for _, e := range all {
		for _, known := range []string{e.Name, e.Op} {
			if typos := levenshtein.Distance(strings.ToLower(name), known, nil); typos < least {
				nearest, least = known, typos
			}
		}
	}
	return nearest
}

// Next returns the first exercise that is not done; nil if all are.
func Next(all []Exercise, done map[string]Pass) *Exercise {
	i := slices.IndexFunc(all, func(e Exercise) bool { _, is := done[e.Name]; return !is })
	if i < 0 {
		return nil
	}
	return &all[i]
}
