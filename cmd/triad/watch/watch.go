// Package watch is the verb watch.
package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/internal/console"
	"triad/internal/fileversion"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownfile"
	"triad/internal/ownfile/added"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/worker"
)

// verb runs triad watch.
type verb struct {
	*runsetup.Setup
	judge func(context.Context, run.Request, *runsetup.Options) error
}

// New returns the command triad watch; judge judges a request, records and prints the results.
func New(s *runsetup.Setup, judge func(context.Context, run.Request,
	*runsetup.Options) error,
) *cobra.Command {
	a := &verb{s, judge}
	o := runsetup.Options{Verb: "watch"}
	cmd := &cobra.Command{
		Use:   "watch OP --add FILE | watch FOLDER",
		Short: "judge a file of your own again on every save",
		Long: `watch judges a file of your own, as compare --quick does, and again each time that the file or
what it includes is saved. It says what changed since the save before. Ctrl-C ends it.`,
		Example: `  triad watch softmax --add mine.cu
  triad watch layernorm --add mine.cu --pass forward --dtype fp16
  triad watch ./my_norm`,
		RunE: func(cmd *cobra.Command, names []string) error {
			o.Args = os.Args[min(1, len(os.Args)):]
			return a.watch(cmd.Context(), names, &o)
		},
	}
	flags.Run(cmd, &o, "both")
	return cmd
}

// watch judges until it is interrupted; its exit code is that of the last verdict.
func (a *verb) watch(ctx context.Context, names []string, o *runsetup.Options) error {
	if err := o.Own.Expand(a.In, a.PartRoot); err != nil {
		return err
	}
	folder := ""
	switch {
	case len(names) == 1 && opfolder.IsFile(names[0]):
		return opfolder.FileForOperator(names[0])
	case len(names) == 1 && opfolder.IsFolder(names[0]):
		folder = names[0]
	case len(o.Own.Add) == 0:
		return console.Usage(
			"watch: name the file to watch, as in triad watch softmax --add mine.cu, or the " +
				"folder of an operator of your own")
	}
	if o.JSON || o.Resume {
		return console.Usage("watch draws for people: --json and --resume are flags of compare")
	}
	if o.Quick && o.Full {
		return console.Usage("--quick and --full exclude each other")
	}
	o.Quick = !o.Full
	if len(o.Impls) == 0 && folder == "" {
		o.Impls = []string{"mine"}
	}
	a.Reserve = &worker.Reserve{}
	defer a.Reserve.Close()
	w := watcher{verb: a}
	for {
		seen := stateOf(&o.Own, folder)
		began := time.Now()
		last := w.round(ctx, names, o)
		var f *session.Failure
		if errors.As(last, &f) && f.Code == session.ExitNothing {
			return last
		}
		a.Reserve.Refill(ctx)
		fmt.Fprintf(a.Out, "\nJudged in %.1f s. Waiting for the next save; Ctrl-C ends.\n",
			time.Since(began).Seconds())
		if !w.wait(ctx, &o.Own, folder, seen) {
			return console.Printed(last)
		}
		a.NewPage()
	}
}

// watcher remembers the statuses of the previous save.
type watcher struct {
	*verb
	before map[string]op.Status
}

// round judges once and prints what changed.
func (w *watcher) round(ctx context.Context, names []string, o *runsetup.Options) error {
	now := map[string]op.Status{}
	var order []string
	o.After = func(result run.Result) {
		for _, r := range result.Records {
			key := fmt.Sprintf("%s %v %s", r.Impl, r.Case.Pass, r.Case.DType)
			old, there := now[key]
			if !there {
				order = append(order, key)
			}
			if !there || graver(r.Status, old) {
				now[key] = r.Status
			}
		}
	}
	request, err := o.Request(w.Files, names)
	if err == nil {
		err = w.judge(ctx, request, o)
	}
	if err != nil && err.Error() != "" {
		fmt.Fprintf(w.Out, "triad: %v\n", err)
	}
	if w.before != nil {
		w.printChanges(order, now)
	}
	if len(now) > 0 {
		w.before = now
	}
	return err
}

// graver reports whether a status outweighs another in one word about several cases.
func graver(a, b op.Status) bool {
	rank := map[op.Weight]int{op.Neutral: 0, op.Good: 1, op.Bad: 2}
	return rank[a.Weight()] > rank[b.Weight()]
}

func (w *watcher) printChanges(order []string, now map[string]op.Status) {
	var words []string
	for _, key := range order {
		if old, there := w.before[key]; there && old != now[key] {
			words = append(words, fmt.Sprintf("%s was %v, is %v", key, old, now[key]))
		} else if !there {
			words = append(words, fmt.Sprintf("%s is new: %v", key, now[key]))
		}
	}
	text := "Since the last save: " + strings.Join(words, "; ") + "."
	if len(words) == 0 {
		text = "Since the last save: the same statuses."
	}
	fmt.Fprintf(w.Out, "\n%s\n", text)
}

// wait returns true when a watched file has other contents and has settled; false when it is time to end.
func (w *watcher) wait(ctx context.Context, f *added.Flags, folder, seen string) bool {
	return w.UntilSaved(ctx, seen, func() string { return stateOf(f, folder) })
}

// stateOf returns a hash of the contents of all added files and of what they include, and of the files of a
// folder, if one is watched; "" if one cannot be read.
func stateOf(f *added.Flags, folder string) string {
	hash := sha256.New()
	if folder != "" {
		if strings.HasSuffix(folder, ".toml") {
			folder = filepath.Dir(folder)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return ""
		}
		for _, e := range entries {
			if slices.Contains([]string{".toml", ".py", ".cu", ".cuh", ".h"}, filepath.Ext(e.Name())) {
				fileversion.WriteContents(hash, filepath.Join(folder, e.Name()))
			}
		}
	}
	for _, text := range f.Add {
		r, err := ownfile.ParseRequest(text)
		if err != nil {
			continue
		}
		state := fileversion.State(r.Path)
		if state == "" {
			return ""
		}
		_, _ = io.WriteString(hash, state)
	}
	return string(hash.Sum(nil))
}
