// Command mutationscore adds up the scores that the operators' mutation tests left in a folder
// (TRIAD_MUTATION_SCORE), and prints the survivors and, in the last line, the whole score. It exits with 1 if
// a mutant survives, a right variant is accused or nothing was scored.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"triad/internal/truth/truthtest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mutationscore FOLDER")
		os.Exit(2)
	}
	total, err := added(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutationscore:", err)
		os.Exit(1)
	}
	fmt.Print(total)
	if total.Killed < total.Mutants || total.Accused > 0 {
		os.Exit(1)
	}
}

// added returns the sum of every score in a folder.
func added(folder string) (truthtest.Score, error) {
	var total truthtest.Score
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return total, fmt.Errorf("no score in %s: want the *.json that go test -run TestMutation leaves "+
			"there (error: %v)", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return total, fmt.Errorf("read a score: %w", err)
		}
		var score truthtest.Score
		if err := json.Unmarshal(text, &score); err != nil {
			return total, fmt.Errorf("read the score %s: %w", file, err)
		}
		total.Add(score)
	}
	return total, nil
}
