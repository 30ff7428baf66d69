package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"triad/internal/record"
)

// readOnlyRole opens a database in a folder that it may not write to, as another user if this one may write
// everywhere.
func readOnlyRole(arguments []string) error {
	if err := asNobody(); err != nil {
		return err
	}
	s, err := Open(ctx, arguments[0], Options{ReadOnly: true})
	if err != nil {
		return err
	}
	records, _, err := s.List(ctx, Filter{})
	if err != nil {
		return err
	}
	answer, err := Query(ctx, arguments[0], "SELECT count(*) FROM run", nil, Limits{})
	if err != nil {
		return err
	}
	_, err = Open(ctx, arguments[0], Options{})
	fmt.Println(len(records), answer.Rows[0][0], err != nil && strings.Contains(err.Error(), "--db"), err)
	return nil
}

// asNobody drops the privileges of root.
func asNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return syscall.Setuid(65534)
}

// readOnlyFolder returns a copy of a database in a folder that only root may write to.
func readOnlyFolder(t *testing.T, database string) (path string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "triad-read-only")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(folder, 0o755); os.RemoveAll(folder) })
	path = filepath.Join(folder, "r.db")
	text, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	return path
}

// copied makes cmd run a copy of this binary, which another user may start.
func copied(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "results.test")
	copyFile(t, os.Args[0], binary)
	cmd.Path, cmd.Dir = binary, "/"
	for up := filepath.Dir(binary); up != "/" && up != os.TempDir(); up = filepath.Dir(up) {
		os.Chmod(up, 0o755)
	}
	return cmd
}

func TestAFolderThatCannotBeWrittenTo(t *testing.T) {
	cmd := copied(t, process("read-only", readOnlyFolder(t, databaseFor(t, 3))))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.HasPrefix(string(out), "3 3 true") {
		t.Errorf("want the 3 results listed and counted, and a refusal to write that says what to do: %s",
			out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// rereadRole reads a database in a folder that it may not write to, and again after each line of input.
func rereadRole(arguments []string) error {
	if err := asNobody(); err != nil {
		return err
	}
	s, err := Open(ctx, arguments[0], Options{ReadOnly: true})
	if err != nil {
		return err
	}
	told := bufio.NewScanner(os.Stdin)
	for {
		_, total, err := s.List(ctx, Filter{})
		if err != nil {
			return err
		}
		fmt.Println(total, strings.Contains(s.source.dsn, immutable))
		if !told.Scan() {
			return nil
		}
	}
}

// Changes by others in a folder that this user may not write to are seen, while they write and afterwards.
func TestAReadOnlyFolderIsReadAnew(t *testing.T) {
	path := readOnlyFolder(t, databaseFor(t, 3))
	cmd := copied(t, process("reread", path))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	says := func() string {
		line, _ := lines.ReadString('\n')
		return strings.TrimSpace(line)
	}
	if got := says(); got != "3 true" {
		t.Fatalf("at first it says %q", got)
	}
	var s *Store
	writes := func() error {
		if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		s, err = Open(ctx, path, Options{})
		return err
	}
	if os.Geteuid() != 0 {
		t.Skip("only root writes where another user may not")
	}
	if err := errors.Join(os.Chmod(path, 0o644), writes()); err != nil {
		t.Fatal(err)
	}
	x, err := s.Start(ctx, record.Session{Request: "more"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := failed(9)
	if err := errors.Join(x.Record(ctx, &r), x.Finish(ctx, true, 1), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "again\n")
	if got := says(); got != "4 true" {
		t.Errorf("after another user recorded one more it says %q", got)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
