package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/internal/subprocess"
)

// decksFile keeps the folders of earlier problems by the runs that they belong to, so that a copy of the
// clone without its history can be judged by them too.
const decksFile = "decks.json"

// earlierDecks finds the problems that were changed after solutions to them had been written: in the history
// of the clone, at the time of a run. It returns their folders, in the working folder, by runs.
func (j *judging) earlierDecks(ctx context.Context, all []*solution) (map[string]string, error) {
	index := filepath.Join(j.work, decksFile)
	folders := map[string]string{}
	if known, err := os.ReadFile(index); err == nil {
		return folders, json.Unmarshal(known, &folders)
	}
	h := &history{clone: j.clone, listed: map[string][]string{}}
	for _, s := range all {
		now := s.problemFolder(j.clone)
		if now == "" {
			continue
		}
		files, at, err := h.problem(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("the problem of %s when it was run: %w", s.run, err)
		}
		then := hashOf([]byte(files["reference.py"])) + " " + hashOf([]byte(files["shapes.py"]))
		if files == nil || then == contents(now) {
			continue
		}
		version := hashOf([]byte(then))[:8]
		folders[s.run] = filepath.Join("decks", version, filepath.FromSlash(at))
		for name, text := range files {
			to := filepath.Join(j.work, folders[s.run], name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
	}
	text, err := json.MarshalIndent(folders, "", " ")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(j.work, 0o755); err != nil {
		return nil, err
	}
	return folders, os.WriteFile(index, text, 0o644)
}

// history reads the commits of a clone.
type history struct {
	clone  string
	listed map[string][]string // the files of problems, by commits
}

// runTime begins the id of a run, in the time of the authors, whose commits name the zone.
var (
	runTime = regexp.MustCompile(`^\d{8}_\d{6}`)
	authors = time.FixedZone("authors", -6*60*60)
)

// problem returns the files of a solution's problem as they were at the time of its run, and the folder that
// they had; nil where the history does not reach that far, or the problem came later.
func (h *history) problem(ctx context.Context, s *solution) (files map[string]string, at string, err error) {
	began, err := time.ParseInLocation("20060102_150405", runTime.FindString(s.run), authors)
	if err != nil { // the id has no time
		return nil, "", nil
	}
	commit, err := h.git(ctx, "rev-list", "-1", "--before="+began.Format(time.RFC3339), "HEAD")
	if commit = strings.TrimSpace(commit); err != nil || commit == "" {
		return nil, "", err
	}
	if h.listed[commit] == nil {
		text, err := h.git(ctx, "ls-tree", "-r", "--name-only", commit, "benchmarks/")
		if err != nil {
			return nil, "", err
		}
		h.listed[commit] = strings.Fields(text)
	}
	if at = s.folderAmong(h.listed[commit]); at == "" {
		return nil, "", nil
	}
	files = map[string]string{}
	for _, name := range []string{"reference.py", "shapes.py", "problem.yaml"} {
		if !slices.Contains(h.listed[commit], at+"/"+name) {
			return nil, "", nil
		}
		if files[name], err = h.git(ctx, "show", commit+":"+at+"/"+name); err != nil {
			return nil, "", err
		}
	}
	return files, strings.TrimPrefix(at, "benchmarks/"), nil
}

// folderAmong returns the folder of a solution's problem among the files of a commit: that of its card, else
// the one that names no card, else the first.
func (s *solution) folderAmong(files []string) string {
	var found []string
	for _, file := range files {
		folder := path.Dir(file)
		deck := path.Dir(folder)
		if path.Base(file) == "reference.py" && path.Base(folder) == s.problem &&
			strings.HasPrefix(deck, "benchmarks/"+s.deck+"/problems") {
			found = append(found, folder)
		}
	}
	for _, deck := range []string{"problems-" + s.card, "problems"} {
		if at := "benchmarks/" + s.deck + "/" + deck + "/" + s.problem; slices.Contains(found, at) {
			return at
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// git returns what a command of git prints.
func (h *history) git(ctx context.Context, args ...string) (string, error) {
	return subprocess.Run(ctx, subprocess.Command{
		Path: "git", Args: append([]string{"-C", h.clone}, args...), Deadline: time.Minute,
	})
}
