package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// costs holds processor seconds. The key of a package has no test.
type costs struct {
	byFolder []cost
	of       map[test]float64
}

// readCosts reads the output of testreport exec; without a file there are no costs.
func readCosts(path string) (*costs, error) {
	c := &costs{of: map[test]float64{}}
	if path == "" {
		return c, nil
	}
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the costs: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		var one cost
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		c.byFolder = append(c.byFolder, one)
	}
	return c, lines.Err()
}

// name replaces folders by the names of their packages.
func (c *costs) name(packages map[string]string) {
	for _, one := range c.byFolder {
		name := packages[one.Folder]
		if name == "" {
			name = one.Folder
		}
		c.of[test{name, one.Test}] += one.ProcessorSeconds
	}
}

// total sums the costs of all packages.
func (c *costs) total() float64 {
	sum := 0.0
	for t, seconds := range c.of {
		if t.name == "" {
			sum += seconds
		}
	}
	return sum
}

// printDearest prints the ten most expensive tests.
func (c *costs) printDearest(out io.Writer) {
	var tests []test
	for t := range c.of {
		if t.name != "" && c.of[t] >= 1 {
			tests = append(tests, t)
		}
	}
	slices.SortFunc(tests, func(a, b test) int {
		return cmp.Or(cmp.Compare(c.of[b], c.of[a]), strings.Compare(a.String(), b.String()))
	})
	for _, t := range tests[:min(len(tests), 10)] {
		fmt.Fprintf(out, "%7.1f s  %v\n", c.of[t], t)
	}
}

// printBudgets prints the processor time of the packages with their own budget, and of others that exceed
// theirs, the most expensive first. It returns those over budget.
func (c *costs) printBudgets(out io.Writer, limits map[string]float64) (over []string) {
	var packages []test
	for t := range c.of {
		if t.name == "" {
			packages = append(packages, t)
		}
	}
	slices.SortFunc(packages, func(a, b test) int {
		return cmp.Or(cmp.Compare(c.of[b], c.of[a]), strings.Compare(a.pkg, b.pkg))
	})
	for _, t := range packages {
		spent, note := c.of[t], ""
		limit, own := limits[t.pkg]
		if !own {
			limit = limits["other"]
		}
		if limit > 0 && spent > limit {
			over, note = append(over, t.pkg), ", over budget"
		}
		if own || note != "" {
			fmt.Fprintf(out, "%-28s %7.1f s of %.0f s of processor time%s\n", t.pkg, spent, limit, note)
		}
	}
	return over
}

// readBudgets reads lines of a package and its processor seconds; # begins a comment. Without a file there
// are no budgets.
func readBudgets(path string) (map[string]float64, error) {
	limits := map[string]float64{}
	if path == "" {
		return limits, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the budgets: %w", err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("%s:%d: want a package and its seconds", path, n+1)
		}
		if limits[words[0]], err = strconv.ParseFloat(words[1], 64); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
	}
	return limits, nil
}
