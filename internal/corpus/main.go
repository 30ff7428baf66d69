// Command corpus judges the published solutions of kernelbench.com, which its authors have audited. It reads
// audits and solutions from a clone, imports the decks, gives the solutions to triad judge, and keeps a row
// for each. What has a row already is not run again: the same command goes on after a stop. -table writes the
// confusion matrix of the rows.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// page is the page that holds the matrix.
const page = "docs/judge.md"

func main() {
	folder := flag.String("folder", "", "a clone of the repository of kernelbench.com")
	program := flag.String("triad", "build/triad", "the program")
	work := flag.String("work", "build/corpus", "a folder for operators, solutions and the database")
	device := flag.String("device", "cpu", "cpu or gpu")
	card := flag.String("card", "h100",
		"whose solutions were written for the GPU that is here: h100 of a Hopper GPU")
	shapes := flag.Int("shapes", 1, "how many shapes of a deck are judged, those with the least work")
	sizes := map[string]map[string]int64{}
	flag.Func("sizes",
		"PROBLEM:DIM=N,... judges a problem at this shape, since the truth of its own takes minutes",
		func(word string) error { return sizesOf(word, sizes) })
	lanes := flag.Int("lanes", 1, "how many solutions of a problem are judged at once")
	limit := flag.Duration("limit", 5*time.Minute, "how long a call of a solution may take")
	within := flag.Duration("within", 0, "how long solutions begin, 0: until all have")
	commit := flag.String("commit", "", "the commit of the clone, if it has no .git")
	rest := flag.String("rest", "",
		"judge nothing, and give what has no row one that says why, such as \"the time was over\"")
	trust := flag.Bool("no-sandbox", false, "run the solutions without a sandbox: on a machine of their own")
	half := flag.String("half", "open", "open, held-out or both: what is judged")
	rows := flag.String("rows", "results/published/corpus", "the folder of the rows")
	table := flag.Bool("table", false, "write the matrix of the rows into "+page+", and run nothing")
	flag.Parse()
	known := slices.Contains([]string{"cpu", "gpu"}, *device) &&
		slices.Contains([]string{"open", "held-out", "both"}, *half)
	if flag.NArg() > 0 || !known || (*folder == "") != *table {
		fmt.Fprintln(os.Stderr, "usage: corpus -folder CLONE [-device cpu|gpu] "+
			"[-half open|held-out|both], or corpus -table")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *table {
		err = writeMatrix(page, *rows)
	} else {
		j := &judging{
			triad: *program, clone: *folder, work: *work, device: *device, card: *card, limit: *limit,
			lanes: *lanes, shapes: *shapes, sizes: sizes, commit: *commit, noSandbox: *trust, rest: *rest,
			half: *half, last: lastOf(*within), rows: filepath.Join(*rows, *device+".jsonl"),
		}
		err = j.all(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// lastOf returns when the last solution begins.
func lastOf(within time.Duration) (last time.Time) {
	if within > 0 {
		last = time.Now().Add(within)
	}
	return last
}

// sizesOf reads PROBLEM:DIM=N,...
func sizesOf(word string, into map[string]map[string]int64) error {
	name, rest, _ := strings.Cut(word, ":")
	dims := map[string]int64{}
	for _, part := range strings.Split(rest, ",") {
		dim, text, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q: want PROBLEM:DIM=N,...", word)
		}
		dims[dim] = n
	}
	into[name] = dims
	return nil
}
