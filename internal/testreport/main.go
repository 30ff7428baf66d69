// Testreport runs and reports the tests of this repository.
//
// As "testreport exec BINARY ARGS", which go test -exec calls, it measures the processor time of each test
// and ends one that hangs; see exec.go. As "testreport merge FILES" it prints the lines of files, such as the
// output of several go test that run at the same time. Otherwise it reads the output of "go test -json": it
// shows progress, each package's line, every failure with its output and the command that repeats it alone,
// the most expensive tests, and the skipped tests with their reasons. With -ci a package over its budget
// fails, and so does a skipped test that neither needs a GPU nor belongs to the long tier.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// options holds the flags.
type options struct {
	budgets  string // a file with a package, or other for the rest, and its processor seconds on each line
	costs    string // the file that testreport exec wrote
	last     string // the costs of an earlier run, for the estimate; may be missing
	packages string // a file with a tested package and its folder on each line
	names    string // a file with every test and case: none may be lost
	reasons  string // the document that gives a reason for each name that is no longer there
	keys     string // the output file with what each case covers and why it ran
	write    bool   // rewrite names
	ci       bool
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "exec" {
		code, err := execTest(os.Args[2:], os.Stdout)
		if err != nil {
			fmt.Fprintln(os.Stderr, "testreport exec:", err)
		}
		os.Exit(code)
	}
	if len(os.Args) > 2 && os.Args[1] == "merge" {
		if err := merge(os.Stdout, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "testreport:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.budgets, "budgets", "",
		"file of packages and their processor seconds; other is any other")
	flag.StringVar(&o.costs, "costs", "", "file that testreport exec appended to")
	flag.StringVar(&o.last, "last", "", "costs of an earlier run, for the estimate")
	flag.StringVar(&o.packages, "packages", "", "file of packages and their folders, all that are tested")
	flag.StringVar(&o.names, "names", "", "file of all tests and cases: one that is missing is a failure")
	flag.StringVar(&o.reasons, "reasons", "", "document with a reason for each name that left")
	flag.StringVar(&o.keys, "keys", "", "file to write: what each case covers, and why it ran")
	flag.BoolVar(&o.write, "write-names", false, "write the file of names anew")
	flag.BoolVar(&o.ci, "ci", false,
		"fail on a package over its budget and on a skip that every run has to run")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, o options) error {
	limits, err := readBudgets(o.budgets)
	if err != nil {
		return err
	}
	p, err := newProgress(o, limits)
	if err != nil {
		return err
	}
	r := &report{
		out: out, output: map[test][]string{}, ended: map[test]string{}, packages: map[string]string{},
		progress: p,
	}
	begin := time.Now()
	if err := r.read(in); err != nil {
		return err
	}
	p.clear()
	spent, err := readCosts(o.costs)
	if err != nil {
		return err
	}
	spent.name(p.folders)
	skipped := r.printSkipped()
	spent.printDearest(out)
	over := spent.printBudgets(out, limits)
	lost, err := r.checkNames(o)
	if err != nil {
		return err
	}
	if err := r.writeKeys(o.keys); err != nil {
		return err
	}
	r.printEnd(time.Since(begin), spent.total())
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d packages failed", r.failed)
	case len(r.packages) == 0:
		return errors.New("no package was tested")
	case len(lost) > 0:
		return fmt.Errorf("%d tests or cases of %s are gone without a reason in %s: %s", len(lost), o.names,
			o.reasons, strings.Join(lost[:min(len(lost), 5)], ", "))
	case o.ci && len(over) > 0:
		return fmt.Errorf("over budget: %s", strings.Join(over, ", "))
	case o.ci && skipped > 0:
		return fmt.Errorf("%d tests were skipped and have to run", skipped)
	}
	return nil
}
