package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/internal/need"
)

// startSlurm starts a Slurm of one node, of Debian's packages slurmctld, slurmd, slurm-client and munge, with
// keys, ports and folders of its own.
func startSlurm(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("slurmd starts tasks as their user: it runs as root alone")
	}
	dir, err := os.MkdirTemp("/tmp", "triad-slurm-") // a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(dir, 0o755)) // munged asks for this of the folders of its socket
	must(os.WriteFile(filepath.Join(dir, "munge.key"), bytes.Repeat([]byte("triad-test-"), 100), 0o400))
	for _, name := range []string{"state", "spool"} {
		must(os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	me, err := user.Current()
	must(err)
	must(os.WriteFile(filepath.Join(dir, "slurm.conf"), fmt.Appendf(nil, `ClusterName=triad
SlurmctldHost=%[1]s
SlurmctldPort=26917
SlurmdPort=26918
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.sock
SlurmUser=%[3]s
SlurmdUser=%[3]s
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
SlurmctldLogFile=%[2]s/slurmctld.log
SlurmdLogFile=%[2]s/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
NodeName=%[1]s CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`, host, dir, me.Username), 0o600))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	start := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(need.Tool(t, name), args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		log, err := os.Create(filepath.Join(dir, name+".out"))
		must(err)
		cmd.Stdout, cmd.Stderr = log, log
		must(cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
			log.Close()
		})
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	start("munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("munged.seed"))
	start("slurmctld", "-D")
	start("slurmd", "-D")
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out, _ := exec.Command(need.Tool(t, "sinfo"), "--noheader", "--format=%t").Output()
		if strings.HasPrefix(string(out), "idle") {
			return
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(in("slurmctld.log"))
			t.Fatalf("Slurm has no idle node after a minute: %s\n%s", out, text)
		}
	}
}

// triadBinary builds triad as people run it.
func triadBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "triad")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// A real Slurm runs the shards; the union answers as one run does. Of a second run a task is killed on the
// way, and of a third the driver gets Ctrl-C and goes on with --resume: each run of the plan is there once.
func TestSlurm(t *testing.T) {
	if os.Getenv("TRIAD_TEST_LONG") == "" {
		t.Skip("a Slurm of one node, about a minute: TRIAD_TEST_LONG=1 runs it")
	}
	startSlurm(t)
	triad, dir := triadBinary(t), t.TempDir()
	command := func(db string, more ...string) *exec.Cmd {
		cmd := exec.Command(triad, append([]string{
			"compare", "softmax", "--impl", "cuda", "--quick", "--db", db,
		}, more...)...)
		cmd.Dir = dir
		return cmd
	}
	fleet := []string{"--on", "slurm", "--shards", "5", "--slurm", "--partition=all --cpus-per-task=1"}
	if out, err := command("whole.db").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	verdicts := func(db string) string {
		t.Helper()
		cmd := exec.Command(triad, "results", "query", "--db", db, "--format", "csv", "--rows", "100000",
			"select c.case_key, p.implementation, r.status, (select count(*) from session) from run r "+
				"join plan p using (plan_id) join test_case c on c.case_id = r.case_id "+
				"where r.status <> 'INTERRUPTED' order by 1, 2")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	want := verdicts("whole.db")
	same := func(db string) {
		t.Helper()
		if got := verdicts(db); got != want {
			t.Errorf("%s: %d lines, one run has %d", db, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
	}
	if out, err := command("fleet.db", fleet...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	same("fleet.db")

	var said bytes.Buffer
	killed := command("killed.db", fleet...)
	killed.Stdout, killed.Stderr = &said, &said
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	killTask(t, filepath.Join(dir, "killed.db-parts"))
	if err := killed.Wait(); err != nil || !strings.Contains(said.String(), "is queued again") {
		t.Errorf("a task was killed: %v: %s", err, said.String())
	}
	same("killed.db")

	stopped := command("stopped.db", fleet...)
	if err := stopped.Start(); err != nil {
		t.Fatal(err)
	}
	runningTask(t, filepath.Join(dir, "stopped.db-parts"))
	if err := stopped.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := stopped.Wait(); stopped.ProcessState.ExitCode() != 3 {
		t.Errorf("Ctrl-C: %v, want exit code 3", err)
	}
	if out, err := exec.Command("squeue", "--noheader").Output(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("tasks after Ctrl-C: %v %s", err, out)
	}
	if out, err := command("stopped.db", append(fleet, "--resume")...).CombinedOutput(); err != nil {
		t.Fatalf("--resume: %v: %s", err, out)
	}
	same("stopped.db")
}

// runningTask waits until a task of a folder runs, and gives its process.
func runningTask(t *testing.T, folder string) int {
	t.Helper()
	line := regexp.MustCompile(`^\S*triad\x00part\x00` + regexp.QuoteMeta(folder))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range commands {
			text, err := os.ReadFile(path)
			if err == nil && line.Match(text) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				return pid
			}
		}
	}
	t.Fatal("no task runs after a minute")
	return 0
}

func killTask(t *testing.T, folder string) {
	t.Helper()
	if err := syscall.Kill(runningTask(t, folder), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
