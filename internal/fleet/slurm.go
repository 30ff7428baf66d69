package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"triad/internal/record"
	"triad/internal/subprocess"
)

// Slurm is the engine that hands shards to an installed Slurm, as tasks of one array job.
type Slurm struct {
	Triad   string   // the binary, at the same path on every node
	Dir     string   // where the tasks run
	Options []string // for sbatch: "--partition=h200", "--gres=gpu:1"

	jobs []string       // array jobs that were submitted
	job  map[int]string // of each shard, the newest
}

// asks is the timeout of a Slurm command: a controller that is restarting answers late.
const asks = 2 * time.Minute

// Submit hands over shards as one array job.
func (s *Slurm) Submit(ctx context.Context, folder Folder, shards []int) error {
	script := folder.in("task.sh")
	// A task uses only the cores that it was given, even if Slurm does not bind it to them.
	text := "#!/bin/sh\n[ -z \"$SLURM_CPUS_PER_TASK\" ] || export GOMAXPROCS=\"$SLURM_CPUS_PER_TASK\"\n" +
		fmt.Sprintf("exec %s part %s \"$SLURM_ARRAY_TASK_ID\"\n", record.ShellQuote(s.Triad),
			record.ShellQuote(string(folder)))
	if err := writeWhole(script, []byte(text)); err != nil {
		return err
	}
	args := append([]string{
		"--parsable", "--job-name=triad", "--array=" + indices(shards), "--chdir=" + s.Dir,
		"--output=" + s.log(folder, "%A", "%a"), "--open-mode=append",
	}, s.Options...)
	out, err := s.ask(ctx, "sbatch", append(args, script)...)
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the name of the cluster may follow
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return fmt.Errorf("sbatch answered %q, want the number of a job", strings.TrimSpace(out))
	}
	if s.job == nil {
		s.job = map[int]string{}
	}
	s.jobs = append(s.jobs, id)
	for _, shard := range shards {
		s.job[shard] = id
	}
	return nil
}

// Gone lists the shards whose task Slurm does not know as waiting or running.
func (s *Slurm) Gone(ctx context.Context, shards []int) (map[int]string, error) {
	out, err := s.ask(ctx, "squeue", "--me", "--noheader", "--array", "--format=%F_%K")
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, task := range strings.Fields(out) {
		there[task] = true
	}
	gone := map[int]string{}
	for _, shard := range shards {
		if task := s.task(shard); !there[task] {
			gone[shard] = s.state(ctx, task)
		}
	}
	return gone, nil
}

// state returns Slurm's state of an ended task: from accounting, or from the controller if none is kept.
func (s *Slurm) state(ctx context.Context, task string) string {
	out, err := s.ask(ctx, "sacct", "--noheader", "--allocations", "--parsable2", "--format=State",
		"--jobs="+task)
	if text := strings.TrimSpace(out); err == nil && text != "" {
		return text
	}
	out, err = s.ask(ctx, "scontrol", "--oneliner", "show", "job", task)
	if err == nil {
		for _, word := range strings.Fields(out) {
			if state, found := strings.CutPrefix(word, "JobState="); found {
				return state
			}
		}
	}
	return "Slurm knows no more of task " + task
}

// Log returns the path of a task's log.
func (s *Slurm) Log(folder Folder, shard int) string {
	return s.log(folder, s.job[shard], strconv.Itoa(shard))
}

// Cancel ends all jobs of this run.
func (s *Slurm) Cancel(ctx context.Context, atOnce bool) error {
	if len(s.jobs) == 0 {
		return nil
	}
	if atOnce {
		_, err := s.ask(ctx, "scancel", s.jobs...)
		return err
	}
	// Those that wait end at once, those that run finish the case that they are at.
	_, waiting := s.ask(ctx, "scancel", append([]string{"--state=PENDING"}, s.jobs...)...)
	_, running := s.ask(ctx, "scancel", append([]string{"--batch", "--signal=TERM"}, s.jobs...)...)
	return errors.Join(waiting, running)
}

func (s *Slurm) task(shard int) string { return s.job[shard] + "_" + strconv.Itoa(shard) }

func (s *Slurm) log(folder Folder, job, task string) string {
	return filepath.Join(string(folder), "log-"+job+"-"+task+".txt")
}

// ask runs a command of Slurm and returns its output; its message is in the error.
func (s *Slurm) ask(ctx context.Context, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not on the PATH: run triad where Slurm's commands are installed", name)
	}
	var stderr strings.Builder
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: path, Args: args, Env: os.Environ(), Deadline: asks, Stderr: &stderr,
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// indices formats shards for sbatch: 1-4,7.
func indices(shards []int) string {
	var words []string
	for i := 0; i < len(shards); {
		j := i
		for j+1 < len(shards) && shards[j+1] == shards[j]+1 {
			j++
		}
		word := strconv.Itoa(shards[i])
		if j > i {
			word += "-" + strconv.Itoa(shards[j])
		}
		words = append(words, word)
		i = j + 1
	}
	return strings.Join(words, ",")
}
