package programcheck

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"

	"triad/cuda/program"
	"triad/internal/check"
	"triad/internal/console"
	"triad/internal/session"
)

// debugHelpers is the script of gdb's commands for kernels.
const debugHelpers = "cuda/emulator/gdb.py"

// debug replaces triad by gdb on a program that is built for it: the terminal and its keys are gdb's from
// then on.
func (a *checker) debug(ctx context.Context, file string, args []string, o *Options) error {
	if o.JSON || o.SARIF != "" || o.Watch || o.Explain || len(o.Sanitizers) > 0 {
		return console.Usage(
			"check: --debug starts a debugger: --json, --sarif, --watch, --explain and --sanitize " +
				"are for checks")
	}
	if isOperator(file) {
		return console.Usage("check: --debug wants a program: the kernels of %s have none of their own", file)
	}
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return session.Fail(session.ExitNothing, errors.New("check --debug needs gdb, which is not on "+
			"the PATH: install it (apt-get install gdb)"))
	}
	solve, err := check.ReadSolve(file, o.Sizes)
	if err != nil {
		return err
	}
	source := program.Source{File: file, Include: o.Include, Define: o.Define, Std: o.Std, Debug: true}
	if solve != nil {
		source.Main = solve.Main()
	}
	program, err := a.buildProgram(ctx, source)
	if err != nil {
		return err
	}
	script, err := a.debugScript()
	if err != nil {
		return err
	}
	command := append([]string{gdb, "-q", "-nx", "-x", script, "--args", program.Path}, args...)
	err = syscall.Exec(gdb, command, append(os.Environ(), "CUEMU_DEBUG=1", "CUEMU_WORKERS=1"))
	return fmt.Errorf("run %s: %w", gdb, err)
}

// debugScript writes gdb's commands for kernels to a file that gdb can read.
func (a *checker) debugScript() (string, error) {
	text, err := fs.ReadFile(a.Files, debugHelpers)
	if err != nil {
		return "", fmt.Errorf("read gdb's helpers: %w", err)
	}
	cache, err := a.CacheDir()
	if err != nil {
		return "", err
	}
	script := filepath.Join(cache, "cuda", fmt.Sprintf("gdb-%x.py", sha256.Sum256(text)))
	if _, err := os.Stat(script); err == nil {
		return script, nil
	}
	sameFolder := renameio.WithTempDir(filepath.Dir(script))
	if err := renameio.WriteFile(script, text, 0o644, sameFolder); err != nil {
		return "", fmt.Errorf("write gdb's helpers: %w", err)
	}
	return script, nil
}
