package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// take copies exports and figures as they are published: the kernels of a library are in its first record
// only, and folders of the machine are written $FOLDER. Earlier published data of the same step, operator and
// pass is replaced; the rest stays.
func take(from, to string) error {
	paths, err := filepath.Glob(filepath.Join(from, "*.json*"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("%s holds no export of record.sh: %w", from, fs.ErrNotExist)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	told := map[string]bool{}
	for _, path := range paths {
		step, records := strings.CutSuffix(filepath.Base(path), ".jsonl")
		switch {
		case strings.HasSuffix(path, ".part") || strings.HasSuffix(step, ".sessions"):
		case records:
			err = takeStep(from, to, step, told)
		default:
			err = takeFile(path, to, nil)
		}
		if err != nil {
			return fmt.Errorf("take %s: %w", path, err)
		}
	}
	return nil
}

// takeStep takes the records of a step, and their sessions.
func takeStep(from, to, step string, told map[string]bool) error {
	text, err := os.ReadFile(filepath.Join(from, step+".jsonl"))
	if err != nil {
		return err
	}
	if text, err = shortened(text, told); err != nil {
		return err
	}
	again := map[string]bool{}
	if err := eachLine(text, func(l label) { again[l.timed()] = true }); err != nil {
		return err
	}
	sessions := map[string]bool{}
	stay, err := linesOf(filepath.Join(to, step+".jsonl"), func(l label) bool {
		sessions[l.Session] = sessions[l.Session] || !again[l.timed()]
		return !again[l.timed()]
	})
	if err != nil {
		return err
	}
	if err := takeText(filepath.Join(to, step+".jsonl"), append(stay, text...)); err != nil {
		return err
	}
	stay, err = linesOf(filepath.Join(to, step+".sessions.jsonl"),
		func(l label) bool { return sessions[l.ID] })
	if err != nil {
		return err
	}
	return takeFile(filepath.Join(from, step+".sessions.jsonl"), to, stay)
}

// takeFile copies a file, appended to stay, the kept part of the published one.
func takeFile(path, to string, stay []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return takeText(filepath.Join(to, filepath.Base(path)), append(stay, text...))
}

func takeText(path string, text []byte) error {
	return os.WriteFile(path, machineFolder.ReplaceAll(text, []byte("${1}$$FOLDER")), 0o644)
}

// label holds the fields that say where a line belongs.
type label struct {
	ID      string `json:"id"`
	Op      string `json:"op"`
	Pass    string `json:"pass"`
	Session string `json:"session"`
}

// timed returns the operator and pass of a line.
func (l label) timed() string { return l.Op + " " + l.Pass }

// linesOf returns the lines of a published file that are to stay. A missing file has none.
func linesOf(path string, keep func(label) bool) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stay []byte
	var wrong error
	err = eachLine(text, func(line json.RawMessage) {
		var l label
		if err := json.Unmarshal(line, &l); err != nil {
			wrong = err
		} else if keep(l) {
			stay = append(append(stay, line...), '\n')
		}
	})
	return stay, errors.Join(err, wrong)
}

// machineFolder matches a path of the machine, up to the first informative part.
var machineFolder = regexp.MustCompile(`(^|\W|-[IL])/(?:root|home|tmp|opt|work|usr/local)(?:/[\w.+@-]+)*`)

// kernelsOfABuild matches the kernels in the build facts of a library.
var kernelsOfABuild = regexp.MustCompile(`,?"kernels":\[\{"kernel":[^\]]*\]`)

// shortened leaves out kernels that an earlier record of the same library has listed.
func shortened(text []byte, told map[string]bool) ([]byte, error) {
	var out bytes.Buffer
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, 1<<28)
	for scanner.Scan() {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(scanner.Bytes(), &object); err != nil {
			return nil, err
		}
		line := scanner.Bytes()
		if kernels := kernelsOfABuild.Find(object["build"]); kernels != nil {
			if library := string(object["op"]) + string(object["backend"]) +
				string(object["source"]); told[library] {
				line = bytes.Replace(line, kernels, nil, 1)
			} else {
				told[library] = true
			}
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), scanner.Err()
}
