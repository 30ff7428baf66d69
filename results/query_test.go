package results

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary also acts as other processes: this variable names the role, roleArguments has its
// arguments.
const (
	role          = "TRIAD_RESULTS_TEST_ROLE"
	roleArguments = "TRIAD_RESULTS_TEST_ARGUMENTS"
)

var roles = map[string]func(arguments []string) error{
	"query": queryRole, "write": writeRole,
	"resume": resumeRole, "fill": fillRole, "lock": lockRole, "read-only": readOnlyRole,
	"power": powerRole, "migrate": migrateRole, "reread": rereadRole,
	"execute": executeRole,
}

func TestMain(m *testing.M) {
	if play, ok := roles[os.Getenv(role)]; ok {
		var arguments []string
		err := json.Unmarshal([]byte(os.Getenv(roleArguments)), &arguments)
		if err == nil {
			err = play(arguments)
		}
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	code := m.Run()
	if commandFolder != "" {
		if err := os.RemoveAll(commandFolder); err != nil {
			fmt.Println("error:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// process returns this binary in a role.
func process(name string, arguments ...string) *exec.Cmd {
	text, _ := json.Marshal(arguments)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+name, roleArguments+"="+string(text))
	return cmd
}

// outcome is the query role's report on a statement.
type outcome struct {
	Error   string
	Rows    int
	Bytes   int
	Seconds float64
	PeakKiB int64
}

// queryRole runs one statement as `triad results query` does.
func queryRole(arguments []string) error {
	var out outcome
	statement, err := io.ReadAll(os.Stdin) // an argument may not be as long as a statement
	if err != nil {
		return err
	}
	began := time.Now()
	answer, err := Query(ctx, arguments[0], unescape(string(statement)), nil, Limits{})
	out.Seconds = time.Since(began).Seconds()
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Rows = len(answer.Rows)
		for _, row := range answer.Rows {
			for _, v := range row {
				out.Bytes += weight(v)
			}
		}
	}
	// Not rusage's: that begins with the memory of the process that started this one.
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			if out.PeakKiB, err = strconv.ParseInt(fields[1], 10, 64); err != nil {
				return err
			}
		}
	}
	if out.PeakKiB == 0 {
		return errors.New("/proc/self/status: no VmHWM")
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func unescape(statement string) string {
	return strings.NewReplacer(`\n`, "\n", `\0`, "\x00", `\xff`, "\xff", `\xfe`, "\xfe", `\x00`,
		"\x00").Replace(statement)
}

// hostile is a statement of the fixtures; a refused one belongs to a class that must not give rows at all.
type hostile struct {
	statement string
	refused   bool
}

// hostileStatements reads the fixtures; HARM becomes a path in harm.
func hostileStatements(t *testing.T, harm string) []hostile {
	text, err := os.ReadFile("testdata/hostile.sql")
	if err != nil {
		t.Fatal(err)
	}
	var all []hostile
	refused := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if heading, ok := strings.CutPrefix(line, "-- "); ok {
			refused = slices.Contains([]string{
				"writes and schema changes", "several statements",
				"other files", "settings and transactions",
			}, heading)
			continue
		}
		all = append(all, hostile{strings.ReplaceAll(line, "HARM", filepath.Join(harm, "made")), refused})
	}
	if len(all) < 60 {
		t.Fatalf("%d hostile statements, want at least 60", len(all))
	}
	return all
}

// databaseFor makes a database with n runs and closes it.
func databaseFor(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := start(t, s, "softmax")
	for i := range n {
		r := failed(i)
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func hash(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// files lists a folder without the shared-memory file and the empty log that SQLite itself keeps next to a
// database that is read.
func files(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if strings.HasSuffix(e.Name(), "-shm") || strings.HasSuffix(e.Name(), "-wal") && info.Size() == 0 {
			continue
		}
		names = append(names, e.Name())
	}
	return names
}

// Every statement runs in a process of its own with an empty working and temporary folder. Harm is: a changed
// database, a file anywhere, more than 2.5 s, more than 100 MB, more than 8 MiB of result, or a process that
// does not end by itself.
func TestNoStatementDoesHarm(t *testing.T) {
	path := databaseFor(t, 50)
	harm := t.TempDir()
	before, beside := hash(t, path), files(t, filepath.Dir(path))
	statements := hostileStatements(t, harm)
	var mu sync.Mutex // guards slowest, largest
	var slowest, largest float64
	work := make(chan hostile)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for h := range work {
				statement := h.statement
				out, err := runHostile(path, statement, harm)
				if err == nil && out.Seconds > 2.5 {
					// a busy machine, or a statement that cannot be stopped: running it alone shows which
					mu.Lock()
					out, err = runHostile(path, statement, harm)
					mu.Unlock()
				}
				short := statement[:min(len(statement), 100)]
				if err != nil {
					t.Errorf("%s\nthe process ended: %v", short, err)
					continue
				}
				if out.Seconds > 2.5 || out.PeakKiB > 100<<10 || out.Bytes > 8<<20 {
					t.Errorf("%s\ntook %.2f s, %d KiB, gave %d bytes", short, out.Seconds,
						out.PeakKiB, out.Bytes)
				}
				if h.refused && out.Error == "" {
					t.Errorf("%s\ngave %d rows, want a refusal", short, out.Rows)
				}
				mu.Lock()
				slowest, largest = max(slowest, out.Seconds), max(largest, float64(out.PeakKiB)/1024)
				mu.Unlock()
			}
		})
	}
	for _, statement := range statements {
		work <- statement
	}
	close(work)
	group.Wait()
	if hash(t, path) != before {
		t.Error("the database changed")
	}
	if after := files(t, filepath.Dir(path)); !slices.Equal(after, beside) {
		t.Errorf("files beside the database: %v, before %v", after, beside)
	}
	if made := files(t, harm); len(made) > 0 {
		t.Errorf("files were made: %v", made)
	}
	t.Logf("%d statements, slowest %.2f s, largest process %.0f MiB", len(statements), slowest, largest)
}

func runHostile(path, statement, folder string) (outcome, error) {
	var out outcome
	cmd := process("query", path)
	cmd.Stdin = strings.NewReader(statement)
	cmd.Dir = folder
	// make test collects garbage less often than triad does
	cmd.Env = append(cmd.Env, "TMPDIR="+folder, "SQLITE_TMPDIR="+folder, "GOGC=100")
	text, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, text)
	}
	return out, json.Unmarshal(text, &out)
}

// Each class of refused statements has its message. Statements of these classes never give rows.
func TestRefusalsSayWhatIsAllowed(t *testing.T) {
	path := databaseFor(t, 1)
	for statement, want := range map[string]string{
		"DELETE FROM run": "only reading is allowed", "PRAGMA user_version": "only reading is allowed",
		"SELECT 1; SELECT 2": "more than one statement",
		"":                   "is empty", ";": "is empty", "SELECT '\xff'": "UTF-8", "SELECT 1\x00": "NUL",
		"nonsense": "syntax error", "SELECT missing": "no such column",
		"ATTACH '/tmp/x' AS y": "only reading is allowed", "SELECT ?": "write :name, and --param name=VALUE",
		"SELECT load_extension('x')": "not authorized",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) " +
			"SELECT count(*) FROM c": "stopped after",
	} {
		out, err := runHostile(path, strings.NewReplacer("\xff", `\xff`, "\x00", `\x00`).Replace(statement),
			t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.Error, want) {
			t.Errorf("%q gives %q, want %q", statement, out.Error, want)
		}
	}
}

func TestOneStatementIsOne(t *testing.T) {
	for _, statement := range []string{
		"SELECT 1", "SELECT 1;", "SELECT ';' ; -- done\n ;",
		"/* ; */ SELECT [a;b]", "SELECT \"a;\" -- ; \n", "SELECT 'it''s; fine'",
	} {
		if err := oneStatement(statement); err != nil {
			t.Errorf("%q: %v", statement, err)
		}
	}
	for _, statement := range []string{"SELECT 1; SELECT 2", "SELECT 1;x", "SELECT ';'; y", " ; ", "-- x"} {
		if err := oneStatement(statement); err == nil {
			t.Errorf("%q was taken for one statement", statement)
		}
	}
}

// The functions, in this process: the heap limit is far above what the other tests need.
func TestFunctionsOfQueries(t *testing.T) {
	path := databaseFor(t, 4)
	for expression, want := range map[string]any{
		"sqrt(2)": math.Sqrt2, "ln(10)": math.Ln10, "exp(1)": math.E, "pow(2, 10)": 1024.0,
		"power(2, 0.5)": math.Sqrt2, "log10(1000)": 3.0, "log(100)": 2.0,
		"log(2, 8)": 3.0, "log2(8)": 3.0, "floor(-1.5)": -2.0, "ceil(1.2)": 2.0, "sqrt(-1)": nil,
		"sqrt(NULL)": nil, "sqrt('x')": nil, "mod(7, 4)": 3.0,
		"(SELECT median(column1) FROM (VALUES (3), (1), (2), (NULL)))":                  2.0,
		"(SELECT median(column1) FROM (VALUES (3), (1)))":                               2.0,
		"(SELECT percentile(column1, 25) FROM (VALUES (1), (2), (3), (4), (5)))":        2.0,
		"(SELECT stddev(column1) FROM (VALUES (2), (4), (4), (4), (5), (5), (7), (9)))": math.Sqrt(32.0 / 7),
		"(SELECT geomean(column1) FROM (VALUES (1), (4), (16)))":                        4.0,
		"(SELECT median(run_id) FROM run WHERE 0)":                                      nil,
		"(SELECT count(*) FROM history)":                                                int64(4),
		"(SELECT json_extract(dims_json, '$.cols') FROM latest LIMIT 1)":                int64(1000),
		"(SELECT sum(value) FROM json_each('[1,2]'))":                                   int64(3),
	} {
		answer, err := Query(ctx, path, "SELECT "+expression+" AS v", nil, Limits{HeapBytes: 1 << 30})
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		got := answer.Rows[0][0]
		a, isNumber := got.(float64)
		b, wantNumber := want.(float64)
		if isNumber && wantNumber && math.Abs(a-b) <= 1e-12*math.Abs(b) {
			continue
		}
		if got != want {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
}

func TestACutIsReported(t *testing.T) {
	path := databaseFor(t, 1)
	const counting = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 20) "
	for _, c := range []struct {
		statement string
		limits    Limits
		rows      int
		cut       bool
	}{
		{counting + "SELECT x FROM c", Limits{Rows: 7}, 7, true},
		{counting + "SELECT x FROM c", Limits{Rows: 20}, 20, false},
		{counting + "SELECT hex(zeroblob(500)) FROM c", Limits{Bytes: 5000}, 4, true},
		{"SELECT 1 WHERE 0", Limits{}, 0, false},
	} {
		c.limits.HeapBytes = 1 << 30
		answer, err := Query(ctx, path, c.statement, nil, c.limits)
		if err != nil || len(answer.Rows) != c.rows || (answer.Cut != "") != c.cut {
			t.Errorf("%s: %+v, %v; want %d rows, cut %v", c.statement, answer, err, c.rows, c.cut)
		}
	}
}
