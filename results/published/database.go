package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// databaseData is the folder where database.sh leaves the output of go test, one file per part.
const databaseData = "results/published/database"

// measuredPart is one of its files.
type measuredPart struct {
	facts  map[string]string             // measured, machine, load before, load after, commit
	bench  map[string]map[string]float64 // values by unit, of each benchmark by its name
	counts map[string]map[string]int     // attributes of each test that passed
}

// readDatabase reads the parts that were measured, by name.
func readDatabase(folder string) (map[string]measuredPart, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	all := map[string]measuredPart{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = readPart(text)
	}
	return all, nil
}

// processors matches the number of processors at the end of a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// readPart reads one file. Attributes count only if their test passed.
func readPart(text []byte) measuredPart {
	p := measuredPart{
		facts: map[string]string{}, bench: map[string]map[string]float64{},
		counts: map[string]map[string]int{},
	}
	counted := map[string]map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if name, value, is := strings.Cut(lines.Text(), ": "); is && !strings.HasPrefix(name, "---") {
			p.facts[name] = strings.TrimSpace(value)
		}
		switch {
		case len(words) == 5 && words[1] == "ATTR":
			if counted[words[2]] == nil {
				counted[words[2]] = map[string]int{}
			}
			if n, err := strconv.Atoi(words[4]); err == nil {
				counted[words[2]][words[3]] = n
			}
		case len(words) >= 3 && words[0] == "---" && words[1] == "PASS:" && counted[words[2]] != nil:
			p.counts[words[2]] = counted[words[2]]
		}
	}
	results := benchfmt.NewReader(bytes.NewReader(text), "measured")
	for results.Scan() {
		if r, is := results.Result().(*benchfmt.Result); is {
			values := map[string]float64{}
			for _, v := range r.Values {
				values[v.Unit] = v.Value
			}
			p.bench[processors.ReplaceAllString(string(r.Name.Full()), "")] = values
		}
	}
	return p
}

// databaseTable returns the table of the database's measurements; missing measurements have no line.
func databaseTable(all map[string]measuredPart) []string {
	out := []string{"| what | found | goal |", "|---|--:|--:|"}
	add := func(asked, found, goal string) {
		if found != "" {
			out = append(out, "| "+asked+" | "+found+" | "+goal+" |")
		}
	}
	questions := all["questions"]
	for _, verb := range []struct{ words, prefix string }{
		{"`results list`", "Million/list"},
		{"`results sessions`", "Million/sessions"},
		{"`results show`", "Million/show"},
		{"`results history OP`", "Million/history"},
		{"`results diff`", "Million/diff"},
		{"`results query --saved`", "Million/query"},
	} {
		add(verb.words, questions.spread(verb.prefix), "1 s")
	}
	add("a page of `triad serve` over them", all["pages"].spread("Pages/"), "1 s")
	add("results recorded in transactions of 100", all["recorded"].rate("Record/100"), "5,000 a second")
	add("results recorded one by one", all["recorded"].rate("Record/1"), "")
	add("processes that record into one database at the same time, nothing lost, no error seen",
		all["writers"].words("TestWritersSideBySide", "processes", "processes, ", "results-of-each",
			"results of each"), "8")
	add("`kill -9` of the real command, alone or with its workers: nothing lost, each plan completed once",
		all["kills"].words("TestKillsOfTheCommand", "kills", "kills, ", "after-a-worker",
			"of them after a worker's, ", "plans", "plans, ", "results-read-before", "results looked for"),
		"1,000 kills")
	for _, who := range []struct{ words, test string }{
		{"a recorder that acknowledges", "TestPowerCutsLoseNothingThatWasAcknowledged"},
		{"the real command", "TestPowerCutsOfTheCommand"},
	} {
		add("power cuts of "+who.words+": nothing lost, the database is sound",
			all["cuts"].words(who.test, "cuts", "cuts"), "300 cuts")
	}
	if len(out) == 2 {
		return []string{"Nothing was measured: results/published/database.sh measures it."}
	}
	return append(out, measuredWhere(all)...)
}

// measuredWhere returns the notes below the table: when and on which machine each part was measured, and the
// load before and after it.
func measuredWhere(all map[string]measuredPart) []string {
	loads := map[string][]string{}
	var places []string
	for _, name := range []string{"questions", "recorded", "pages", "writers", "kills", "cuts"} {
		f := all[name].facts
		if len(f) == 0 {
			continue
		}
		place := fmt.Sprintf("Measured %s on %s", f["measured"], f["machine"])
		if loads[place] == nil {
			places = append(places, place)
		}
		loads[place] = append(loads[place], fmt.Sprintf("%s %s, %s", name, f["load before"], f["load after"]))
	}
	var lines []string
	for _, place := range places {
		lines = append(lines, "", place+"; load before and after: "+strings.Join(loads[place], "; ")+".")
	}
	return lines
}

// spread returns the shortest and the longest of the benchmarks with a prefix, in wall time and in CPU time,
// which other load affects little.
func (p measuredPart) spread(prefix string) string {
	wall, processor := p.between(prefix, "sec/op", 1000), p.between(prefix, "cpu-ms/op", 1)
	if processor != "" {
		wall += "; processor time " + processor
	}
	return wall
}

// between returns the least and the most of a unit, times a factor, as ms; nothing if it was not measured.
func (p measuredPart) between(prefix, unit string, factor float64) string {
	var ms []float64
	for name, values := range p.bench {
		if v, is := values[unit]; is && strings.HasPrefix(name, prefix) {
			ms = append(ms, v*factor)
		}
	}
	switch len(ms) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.0f ms", ms[0])
	}
	return fmt.Sprintf("%.0f to %.0f ms", slices.Min(ms), slices.Max(ms))
}

// rate returns how many results per second a benchmark recorded.
func (p measuredPart) rate(name string) string {
	values, there := p.bench[name]
	if !there || !(values["results/s"] > 0) {
		return ""
	}
	return fmt.Sprintf("%.0f a second; %.0f a second of processor time", math.Floor(values["results/s"]),
		math.Floor(values["results/cpu-s"]))
}

// words returns the attributes of a test, each before its words; nothing if it did not pass.
func (p measuredPart) words(test string, named ...string) string {
	counts, passed := p.counts[test]
	if !passed {
		return ""
	}
	text := ""
	for i := 0; i < len(named); i += 2 {
		text += strconv.Itoa(counts[named[i]]) + " " + named[i+1]
	}
	return text
}
