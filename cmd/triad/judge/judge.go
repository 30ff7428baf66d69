// Package judge is the verb judge.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/internal/console"
	"triad/internal/describer"
	"triad/internal/judgeloop"
	"triad/internal/judgeloop/lanes"
	"triad/internal/machine"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/pybridge"
)

// options holds the flags of judge.
type options struct {
	machine.EnvironmentFlags
	machine.DeviceFlags
	stdin, blind, all, given  bool
	noSandbox                 bool
	lanes                     int
	inputs, pass, level, seed string
	timeout                   time.Duration
}

// mostLanes is the largest default of --lanes: on a GPU each has a context.
const mostLanes = 4

// New returns the command triad judge; run replaces what it does, nil: it judges.
func New(s *runsetup.Setup,
	run func(context.Context, *runsetup.Setup, []string, *options) error,
) *cobra.Command {
	if run == nil {
		run = judge
	}
	var o options
	cmd := &cobra.Command{
		Use:   "judge [PROBLEM CANDIDATE]",
		Short: "judge one candidate for a problem; JSON out",
		Long: `judge judges one candidate for one problem and prints the verdict as a JSON object. PROBLEM is
a folder that triad import made, a problem that it can import, or FILE.py:FUNCTION, a reference in torch, with
--inputs. CANDIDATE is a submission as the format of the problem asks for, or FILE.py:FUNCTION. Both run in a
sandbox (bubblewrap). Without one nothing runs, unless --no-sandbox says that they are trusted.

With --stdin, judge reads a job a line, a JSON object, and prints a result a line, in the order of the jobs.
Its processes stay warm. docs/problems.md describes jobs and results.`,
		Example: `  triad judge ./kernelbench_19_relu my_relu.py
  triad judge reference.py:softmax candidate.py:softmax --inputs fp32[64,1000]
  triad judge --stdin --blind`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), s, args, &o) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.stdin, "stdin", false, "read a job a line from stdin, and print a result a line")
	fs.BoolVar(&o.blind, "blind", false, "let no message hold a value of the truth: for training loops")
	fs.BoolVar(&o.all, "all", false, "judge every case, and do not stop at the first that is wrong")
	fs.BoolVar(&o.given, "given-sizes", false,
		"judge at the sizes of the problem, or of --inputs, alone: the candidate is meant for these")
	fs.BoolVar(&o.noSandbox, "no-sandbox", false,
		"trust the problem and the candidates, and run them without a sandbox")
	fs.IntVar(&o.lanes, "lanes", 0,
		"with --stdin: candidates that are judged at once (default: one for each core, at most 4)")
	fs.StringVar(&o.inputs, "inputs", "", "the inputs of a reference: fp32[64,1000],i64[64]<1000")
	fs.StringVar(&o.pass, "pass", "forward", "forward, backward or both")
	fs.StringVar(&o.level, "level", "quick", "quick, default or full")
	fs.StringVar(&o.seed, "seed", "", "seed of the inputs")
	fs.DurationVar(&o.timeout, "timeout", 20*time.Second, "limit of each call of the candidate")
	fs.StringVar(&o.Device, "device", "auto", "auto, cpu or gpu")
	fs.IntVar(&o.GPU, "gpu", -1, "use this GPU, a number among the visible ones, from 0")
	flags.Environment(cmd, &o.EnvironmentFlags)
	return cmd
}

// judge runs the verb.
func judge(ctx context.Context, s *runsetup.Setup, args []string, o *options) (err error) {
	j, err := jobOf(args, o)
	if err != nil {
		return err
	}
	if o.lanes == 0 {
		o.lanes = min(runtime.GOMAXPROCS(0), mostLanes)
	}
	if !o.stdin {
		o.lanes = 1
	}
	judging, ready, err := lanes.New(ctx, &s.Source, &o.DeviceFlags, o.EnvironmentFlags, o.lanes, o.noSandbox)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, judging.Close()) }()
	processes, err := describer.On(ctx, s.Workers, o.EnvironmentFlags, o.noSandbox)
	if err != nil {
		return err
	}
	defer processes.Close()
	g, err := judgeOf(s, judging, ready, processes)
	if err != nil {
		return err
	}
	g.Trusted = o.noSandbox
	defer func() { err = errors.Join(err, g.Close()) }()
	if o.stdin {
		s.AtOnce.Add(1)
		return judgeloop.Serve(s.Stop, s.In, s.Out, o.lanes, o.blind, g.Job)
	}
	began := time.Now()
	r := g.Job(ctx, 0, j)
	r.Seconds = time.Since(began).Seconds()
	text, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(s.Out, "%s\n", text)
	}
	switch {
	case err != nil || r.Right:
		return err
	case r.Bad > 0:
		return session.Fail(session.ExitBad, errors.New(""))
	}
	return session.Fail(session.ExitNothing, errors.New(""))
}

func judgeOf(s *runsetup.Setup, judging *lanes.Judging, lanes []*judgeloop.Lane,
	processes *describer.Describer,
) (*judgeloop.Judge, error) {
	cache, err := s.CacheDir()
	if err != nil {
		return nil, err
	}
	version, err := pybridge.ProblemVersion(s.Files, cache)
	if err != nil {
		return nil, err
	}
	return &judgeloop.Judge{
		Folder: filepath.Join(cache, "judge", version), Describe: processes.Describe, Open: judging.Open,
		Lanes: lanes,
	}, nil
}

// jobOf makes a job of the command line; nil with --stdin.
func jobOf(args []string, o *options) (*judgeloop.Job, error) {
	if o.stdin {
		if len(args) > 0 || o.inputs+o.seed != "" {
			return nil, console.Usage(
				"judge --stdin: each line names its problem, candidate, inputs and seed")
		}
		if o.lanes < 0 {
			return nil, console.Usage("--lanes %d: want at least 1", o.lanes)
		}
		return nil, nil
	}
	if len(args) != 2 {
		return nil, console.Usage("judge: name a problem and a candidate, or read jobs with --stdin")
	}
	j := &judgeloop.Job{
		Problem: args[0], Candidate: judgeloop.SourceOf(args[1]), Pass: o.pass, Level: o.level,
		TimeoutS: o.timeout.Seconds(), Blind: o.blind, All: o.all,
		GivenSizes: o.given,
	}
	if o.inputs != "" {
		j.Problem, j.Reference = "", judgeloop.SourceOf(args[0])
		var err error
		if j.Inputs, err = judgeloop.ParseInputs(o.inputs); err != nil {
			return nil, console.Usage("--inputs %q: %w", o.inputs, err)
		}
	}
	if o.seed != "" {
		seed, err := strconv.ParseUint(o.seed, 10, 63)
		if err != nil {
			return nil, console.Usage("--seed %q: want an integer from 0 to 2^63 - 1", o.seed)
		}
		j.Seed = &seed
	}
	if err := j.Check(); err != nil {
		return nil, console.Usage("judge: %w", err)
	}
	return j, nil
}
