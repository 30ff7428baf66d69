package results

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/record"
)

// diskStep is one operation of a process on a file, as testdata/disk.c logs it. The process itself adds steps
// of kind A: a result is stored.
type diskStep struct {
	kind   byte // O made, W written, T cut, S synced, U removed, A acknowledged
	name   string
	offset int64
	data   []byte
}

// diskLog preloads testdata/disk.c into a command and returns the path of the log of its steps.
func diskLog(t *testing.T, cmd *exec.Cmd, database string) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "disk.so")
	out, err := exec.Command(need.Tool(t, "gcc"), "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o",
		library, "testdata/disk.c", "-ldl").
		CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+library, "TRIAD_DISK_LOG="+log, "TRIAD_DISK_PATH="+database)
	return log
}

// readSteps reads a log.
func readSteps(t *testing.T, log string) []diskStep {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	const head = 16
	var all []diskStep
	for len(text) > 0 {
		name := int(text[1]) | int(text[2])<<8
		data := int(binary.LittleEndian.Uint32(text[4:]))
		all = append(all, diskStep{
			kind: text[0], offset: int64(binary.LittleEndian.Uint64(text[8:])),
			name: string(text[head : head+name]), data: text[head+name : head+name+data],
		})
		text = text[head+name+data:]
	}
	return all
}

// acknowledge logs that a result is stored.
func acknowledge(log *os.File, id string) error {
	step := []byte{'A', byte(len(id)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	_, err := log.Write(append(step, id...))
	return err
}

// diskFile is the content of a file that is safely on the disk, and the steps on it since its last sync.
type diskFile struct {
	synced  []byte
	pending []diskStep
}

// done returns the content of a file after a step. Each sector is written completely or not at all: keep
// decides which.
func (s diskStep) done(content []byte, keep func() bool) []byte {
	switch s.kind {
	case 'T':
		if int64(len(content)) > s.offset {
			return content[:s.offset]
		}
		return append(content, make([]byte, s.offset-int64(len(content)))...)
	case 'W':
		const sector = 512
		for at := int64(0); at < int64(len(s.data)); {
			next := min(int64(len(s.data)), (s.offset+at)/sector*sector+sector-s.offset)
			if keep() {
				if missing := s.offset + next - int64(len(content)); missing > 0 {
					content = append(content, make([]byte, missing)...)
				}
				copy(content[s.offset+at:], s.data[at:next])
			}
			at = next
		}
	}
	return content
}

// disk follows steps up to a power cut. A sync of a file makes its content and its name safe, as ext4, XFS
// and btrfs do; a removal may be lost until the folder is synced.
type disk struct {
	folder       string
	files        map[string]*diskFile
	removed      map[string]*diskFile
	acknowledged []string
}

func newDisk(folder string) *disk {
	return &disk{folder: folder, files: map[string]*diskFile{}, removed: map[string]*diskFile{}}
}

func (d *disk) step(s diskStep) {
	if s.name == d.folder {
		clear(d.removed)
		return
	}
	f := d.files[s.name]
	if f == nil && s.kind != 'A' && s.kind != 'U' {
		f = &diskFile{}
		d.files[s.name] = f
	}
	switch s.kind {
	case 'A':
		d.acknowledged = append(d.acknowledged, s.name)
	case 'U':
		d.removed[s.name] = d.files[s.name]
		delete(d.files, s.name)
	case 'S':
		for _, p := range f.pending {
			f.synced = p.done(f.synced, func() bool { return true })
		}
		f.pending = nil
		delete(d.removed, s.name)
	case 'O':
		delete(d.removed, s.name)
	default:
		f.pending = append(f.pending, s)
	}
}

// cut writes into a folder what the disk may hold if the power fails now: each step that was not synced is
// there, missing, or there in part. With a nil chance only synced steps are there.
func (d *disk) cut(t *testing.T, folder string, chance *rand.Rand) {
	t.Helper()
	left := maps.Clone(d.files)
	for name, f := range d.removed {
		if chance != nil && f != nil && chance.IntN(2) == 0 {
			left[name] = f // the removal had not reached the disk
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		content := slices.Clone(left[name].synced)
		for _, s := range left[name].pending {
			switch {
			case chance == nil:
			case chance.IntN(3) == 0: // torn
				content = s.done(content, func() bool { return chance.IntN(2) == 0 })
			case chance.IntN(2) == 0:
				content = s.done(content, func() bool { return true })
			}
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// powerRole records a plan and acknowledges each result in the log of its disk. It reopens the database after
// every fiftieth, so that cuts also fall between a checkpoint and the removal of the write-ahead log.
func powerRole(arguments []string) error {
	n, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv("TRIAD_DISK_LOG"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	for done := 0; done < n; {
		s, err := Open(ctx, arguments[0], Options{})
		if err != nil {
			return err
		}
		missing := plan(n)
		var x *Session
		if done == 0 {
			x, err = s.Start(ctx, record.Session{Request: "cut often"}, missing)
		} else {
			x, missing, err = s.Resume(ctx, "cut often")
		}
		if err != nil {
			return err
		}
		for _, item := range missing[:min(50, len(missing))] {
			r := failed(0)
			r.Case = item.Case
			if err := x.Begin(ctx, item); err != nil {
				return err
			}
			if err := x.Record(ctx, &r); err != nil {
				return err
			}
			if err := acknowledge(log, r.ID); err != nil {
				return err
			}
			done++
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

// powerCuts returns the number of cuts that a test makes.
func powerCuts(short int) int {
	if need.IsLongTier() {
		return 300
	}
	return short
}

// cutSomewhere calls look with possible states of the disk after cuts at random steps of a log.
func cutSomewhere(t *testing.T, steps []diskStep, cuts int, chance *rand.Rand,
	look func(d *disk, folder string, cut int),
) {
	t.Helper()
	at := make([]int, cuts)
	for i := range at {
		at[i] = chance.IntN(len(steps) + 1)
	}
	slices.Sort(at)
	d, done := newDisk(filepath.Dir(steps[0].name)), 0
	for i, cut := range at {
		for ; done < cut; done++ {
			d.step(steps[done])
		}
		folder := filepath.Join(t.TempDir(), fmt.Sprint("cut", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		d.cut(t, folder, chance)
		look(d, folder, i)
		os.RemoveAll(folder)
	}
}

// The power of the disk fails at random instants. Every result that was acknowledged before is there,
// complete, the database is sound, and the plan can be completed: each entry once. The long tier cuts 300
// times.
func TestPowerCutsLoseNothingThatWasAcknowledged(t *testing.T) {
	const items = 240
	path := filepath.Join(t.TempDir(), "r.db")
	cmd := process("power", path, strconv.Itoa(items))
	log := diskLog(t, cmd, path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	steps := readSteps(t, log)
	chance := rand.New(rand.NewPCG(7, 8))
	cuts, acknowledged := powerCuts(15), 0
	cutSomewhere(t, steps, cuts, chance, func(d *disk, folder string, cut int) {
		acknowledged += len(d.acknowledged)
		path := filepath.Join(folder, "r.db")
		stored := rowsOf(
			t,
			path,
			"SELECT run_ulid FROM run r WHERE status = 'FAIL' AND (SELECT count(*) FROM "+
				"verdict v WHERE v.run_id = r.run_id) = 2 ORDER BY 1",
		)
		lost(t, d.acknowledged, stored)
		whole(t, path)
		if err := completePlan(path, items, 0); err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		if got := rowsOf(t, path, "SELECT count(*) || ' ' || count(DISTINCT case_id) FROM run "+
			"WHERE status = 'FAIL'"); got[0] != fmt.Sprint(
			items,
			" ",
			items,
		) {
			t.Errorf("cut %d: %s results and cases, want %d of each", cut, got[0], items)
		}
	})
	if acknowledged == 0 {
		t.Error("no cut came after an acknowledged result: nothing is proven")
	}
	tell(t, map[string]int{"cuts": cuts, "steps": len(steps), "acknowledged-results": acknowledged})
}

// The same with the log of the real command: whatever was synced is there, the database is sound, and
// --resume completes the plan of every tenth disk exactly once.
func TestPowerCutsOfTheCommand(t *testing.T) {
	d := buildCommand(t)
	path := filepath.Join(t.TempDir(), "r.db")
	cmd := d.run(path)
	log := diskLog(t, cmd, path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	chance := rand.New(rand.NewPCG(9, 10))
	resumed := 0
	steps := readSteps(t, log)
	cutSomewhere(t, steps, powerCuts(10), chance, func(at *disk, folder string, cut int) {
		synced := t.TempDir()
		at.cut(t, synced, nil)
		path := filepath.Join(folder, "r.db")
		lost(t, acknowledgedRows(t, filepath.Join(synced, "r.db")), acknowledgedRows(t, path))
		whole(t, path)
		if cut%10 != 0 {
			return
		}
		resumed++
		if out, err := d.resumed(t, path).CombinedOutput(); err != nil &&
			!strings.Contains(string(out), "no interrupted session") {
			t.Fatalf("cut %d: %v: %s", cut, err, out)
		}
		d.once(t, path, true)
	})
	tell(t, map[string]int{"cuts": powerCuts(10), "steps": len(steps), "resumed-by-the-command": resumed})
}
