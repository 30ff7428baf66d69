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

	"triad/internal/catalog"
	"triad/internal/need"
)

// slurmConf is the configuration of a node: its name, its folder, and the user.
const slurmConf = `ClusterName=triad
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
`

// startSlurm starts a Slurm of one node, from Debian's packages slurmctld, slurmd, slurm-client and munge,
// with its own keys, ports and folders.
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
	must(os.Chmod(dir, 0o755)) // munged requires this of the folders of its socket
	must(os.WriteFile(filepath.Join(dir, "munge.key"), bytes.Repeat([]byte("triad-test-"), 100), 0o400))
	for _, name := range []string{"state", "spool"} {
		must(os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	me, err := user.Current()
	must(err)
	conf := fmt.Appendf(nil, slurmConf, host, dir, me.Username)
	must(os.WriteFile(filepath.Join(dir, "slurm.conf"), conf, 0o600))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	startDaemons(t, dir)
}

// startDaemons starts the daemons of a folder and waits until the node is up.
func startDaemons(t *testing.T, dir string) {
	t.Helper()
	start := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(need.Tool(t, name), args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		log, err := os.Create(filepath.Join(dir, name+".out"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
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

// triadBinary builds triad as users run it.
func triadBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "triad")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestSlurm: a real Slurm runs the shards, and the union has the results of a single run. In a second run a
// task is killed, in a third the driver gets Ctrl-C and goes on with --resume, in a fourth the driver is
// killed: each run of the plan is recorded once. A full shared folder is named, and what did not fit is done
// afterwards.
func TestSlurm(t *testing.T) {
	need.Long(t, "a Slurm of one node, about a minute")
	startSlurm(t)
	r := slurmRun{T: t, triad: triadBinary(t), dir: t.TempDir()}
	if out, err := r.command("whole.db").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := r.verdicts("whole.db")
	for db, run := range map[string]func(db string){
		"fleet.db": r.undisturbed, "killed.db": r.killed, "stopped.db": r.stopped, "dead.db": r.dead,
		"full.db": r.full,
	} {
		run(db)
		if got := r.verdicts(db); got != want {
			t.Errorf("%s: %d lines, one run has %d", db, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
	}
}

// slurmRun runs a comparison repeatedly, each time into its own database.
type slurmRun struct {
	*testing.T
	triad, dir string
}

func (r slurmRun) command(db string, more ...string) *exec.Cmd {
	cmd := exec.Command(r.triad, append([]string{
		"compare", catalog.Names()[0], "--impl", "cuda", "--quick", "--db", db,
	}, more...)...)
	cmd.Dir = r.dir
	return cmd
}

func (r slurmRun) onSlurm(db string, more ...string) *exec.Cmd {
	return r.command(db, append([]string{
		"--on", "slurm", "--shards", "5", "--slurm", "--partition=all --cpus-per-task=1",
	}, more...)...)
}

// verdicts returns a line for each run of a database.
func (r slurmRun) verdicts(db string) string {
	r.Helper()
	cmd := exec.Command(r.triad, "results", "query", "--db", db, "--format", "csv", "--rows", "100000",
		"select c.case_key, p.implementation, r.status, (select count(*) from session) from run r "+
			"join plan p using (plan_id) join test_case c on c.case_id = r.case_id "+
			"where r.status <> 'INTERRUPTED' order by 1, 2")
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func (r slurmRun) undisturbed(db string) {
	if out, err := r.onSlurm(db).CombinedOutput(); err != nil {
		r.Fatalf("%v: %s", err, out)
	}
}

// killed kills a task while it runs.
func (r slurmRun) killed(db string) {
	var said bytes.Buffer
	cmd := r.onSlurm(db)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	if err := syscall.Kill(runningTask(r.T, filepath.Join(r.dir, db+"-parts")), syscall.SIGKILL); err != nil {
		r.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "is queued again") {
		r.Errorf("a task was killed: %v: %s", err, said.String())
	}
}

// stopped sends Ctrl-C to the driver and resumes.
func (r slurmRun) stopped(db string) {
	cmd := r.onSlurm(db)
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	runningTask(r.T, filepath.Join(r.dir, db+"-parts"))
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		r.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		r.Errorf("Ctrl-C: %v, want exit code 3", err)
	}
	out, err := exec.Command("squeue", "--noheader").Output()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		r.Errorf("tasks after Ctrl-C: %v %s", err, out)
	}
	if out, err := r.onSlurm(db, "--resume").CombinedOutput(); err != nil {
		r.Fatalf("--resume: %v: %s", err, out)
	}
}

// runningTask waits until a task of a folder runs, and returns its process ID.
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

// dead kills the driver, and resumes while its tasks may still run.
func (r slurmRun) dead(db string) {
	cmd := r.onSlurm(db)
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	runningTask(r.T, filepath.Join(r.dir, db+"-parts"))
	if err := cmd.Process.Kill(); err != nil {
		r.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if out, err := r.onSlurm(db, "--resume").CombinedOutput(); err != nil {
		r.Fatalf("--resume: %v: %s", err, out)
	}
}

// full puts the parts of a run into a file system without room for them, and resumes when there is some.
func (r slurmRun) full(db string) {
	parts := r.TempDir()
	if err := syscall.Mount("none", parts, "tmpfs", 0, "size=256k"); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = syscall.Unmount(parts, syscall.MNT_DETACH) })
	cmd := r.onSlurm(db, "--parts", parts)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "no space left on device") {
		r.Errorf("a full shared folder: exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	if err := syscall.Mount("none", parts, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		r.Fatal(err)
	}
	if out, err := r.onSlurm(db, "--parts", parts, "--resume").CombinedOutput(); err != nil {
		r.Fatalf("--resume: %v: %s", err, out)
	}
}
