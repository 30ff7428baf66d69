package fleetrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"triad"
	"triad/cuda/build"
	"triad/internal/fleet"
	"triad/internal/panics"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/scratch"
	"triad/internal/session"
	"triad/results"
)

// partOfRun is one shard that this process runs.
type partOfRun struct {
	*runsetup.Setup
	execute Execute
}

// Execute runs a command line of triad. It calls begun when its verb begins.
type Execute func(ctx context.Context, args []string, begun func()) error

// Part runs one shard of the plan in a shared folder and leaves its part and outcome there. It succeeds if it
// could leave them.
func Part(ctx context.Context, s *runsetup.Setup, path string, shard int, execute Execute) error {
	a := &partOfRun{s, execute}
	folder := fleet.Folder(path)
	plan, err := folder.Plan()
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", path, err)
	}
	parent := os.Getppid()
	panics.Go(func() { endWith(parent) }, a.Broke)
	outcome := a.part(ctx, folder, plan, shard)
	outcome.Host = hostName()
	if outcome.Reason != "" {
		fmt.Fprintf(a.Err, "triad: shard %d/%d: %s\n", shard, plan.Shards, outcome.Reason)
	}
	return folder.End(shard, outcome)
}

// endWith ends this process after its current case when the process that started it is gone, such as a worker
// of Ray on a dead node: nobody takes the results of the part, and its core belongs to somebody else.
func endWith(parent int) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
}

// part runs one shard. Its database grows on a disk of this machine and is moved to the shared folder at the
// end: SQLite's locks then need no network file system, and nobody reads half a database. It continues what
// an earlier task of the shard left.
func (a *partOfRun) part(ctx context.Context, folder fleet.Folder, plan fleet.Plan,
	shard int,
) (o fleet.Outcome) {
	if o.Reason = a.otherVersion(plan); o.Reason != "" {
		o.Exit = int(session.ExitUsage)
		return o
	}
	temporary, err := scratch.Make("part")
	if err != nil {
		o.Exit, o.Reason = int(session.ExitNothing), fmt.Sprintf("make a scratch folder: %v", err)
		return o
	}
	defer temporary.Remove()
	parts := temporary.Path
	database := filepath.Join(parts, "part.db")
	args := append(plan.Args, "--db="+database)
	if plan.Claimed {
		spread := shard == plan.SpreadShard()
		a.Spread = spread
		a.PartClaim = func(operator, key string) (bool, error) {
			if slices.Contains(plan.Spread, operator) != spread {
				return false, nil
			}
			return folder.Claim(shard, key)
		}
	} else {
		args = append(args, fmt.Sprintf("--shard=%d/%d", shard, plan.Shards))
	}
	args = append(args, a.partFiles(plan)...)
	if before := folder.Part(shard); fleet.Bring(before, database) == nil {
		if unfinished(ctx, database) {
			args = append(args, "--resume")
		} else {
			os.Remove(database)
		}
	}
	o = a.shard(ctx, args, plan.Session)
	if o.Complete, o.Part = partIn(ctx, database); o.Part {
		if err := fleet.Bring(database, folder.Part(shard)); err != nil {
			o = fleet.Outcome{Exit: int(session.ExitNothing), Reason: err.Error()}
		}
	}
	o.Complete = o.Complete || o.Exit == 0 && !o.Part // an empty shard
	o.Stopped = a.Stop.Err() != nil
	return o
}

// otherVersion describes the difference between this triad and the one that cut the run; "" if there is none.
func (a *partOfRun) otherVersion(plan fleet.Plan) string {
	const install = ": install the same on both"
	if plan.Version != triad.Version {
		return fmt.Sprintf("%s has triad %s, and %s, which cut the run, has triad %s%s", hostName(),
			triad.Version, plan.Host, plan.Version, install)
	}
	if own := build.SourcesHash(a.Files); plan.Kernels != own {
		return fmt.Sprintf("%s has triad %s with other kernels (%s) than %s, which cut the run (%s)%s",
			hostName(), triad.Version, own, plan.Host, plan.Kernels, install)
	}
	return ""
}

// partFiles returns the flags that name the files of a plan. If there are many, the list goes through
// standard input: each task must know all, so that a file has the same name in every part.
func (a *partOfRun) partFiles(plan fleet.Plan) (args []string) {
	a.PartRoot = plan.Root
	if plan.Many {
		var list strings.Builder
		for _, word := range plan.Files {
			list.WriteString(plan.Root + word + "\n")
		}
		a.In = strings.NewReader(list.String())
		return []string{"--add=-"}
	}
	for _, word := range plan.Files {
		args = append(args, "--add="+plan.Root+word)
	}
	return args
}

// shard runs the command line of a shard in this process.
func (a *partOfRun) shard(ctx context.Context, args []string, of string) (o fleet.Outcome) {
	a.PartOf, a.PartRan = of, func(result run.Result) {
		p := runsetup.PowerOf(result)
		o.Power = fleet.Power{Cases: p.Cases, Powered: p.Powered, Trivial: p.Trivial}
	}
	begun := false
	err := a.Guarded(func() error { return a.execute(ctx, args, func() { begun = true }) })
	var empty *run.EmptyShard
	if errors.As(err, &empty) {
		return o
	}
	code, err := session.Command(err, begun, ctx.Err() != nil)
	o.Exit = int(code)
	if err != nil {
		o.Reason = err.Error()
	}
	return o
}

// partIn reports whether the newest session of a database has recorded its whole plan, and whether there is
// one.
func partIn(ctx context.Context, path string) (complete, found bool) {
	if _, err := os.Stat(path); err != nil {
		return false, false
	}
	store, err := results.Open(ctx, path, results.Options{})
	if err != nil {
		return false, false
	}
	defer store.Close()
	sessions, err := store.Sessions(ctx, "", 1)
	if err != nil || len(sessions) == 0 {
		return false, false
	}
	return sessions[0].State == "complete", true
}

func unfinished(ctx context.Context, path string) bool {
	complete, found := partIn(ctx, path)
	return found && !complete
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "a machine without a name"
	}
	return name
}
