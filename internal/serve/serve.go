// Package serve shows the database as pages on this machine only. It only reads: no request changes anything.
// Package report decides the look of a page, package pages reads its contents.
package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/pages"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/resultdiff"
	"triad/results"
)

// Timeouts of parts of a request.
const (
	headerTime = 5 * time.Second
	answerTime = 20 * time.Second
	idleTime   = time.Minute
)

// perPage is the number of runs and sessions that a list shows.
const perPage = 200

// mostOffered is the number of sessions that a comparison offers.
const mostOffered = 20

// Options holds what the server cannot know itself.
type Options struct {
	Findings []report.OperatorFindings
	// Side reads one side of a comparison by its name as the user gave it.
	Side func(ctx context.Context, name string) (resultdiff.Side, error)
	// Since parses a time that a user wrote.
	Since func(text string) (time.Time, error)
	// Query runs SQL that a user typed, and returns its rows as "csv" or as "json", an object a line.
	Query func(ctx context.Context, statement string, params map[string]string, format string) (
		Rows, error)
	// Saved lists the queries that have a name; nil: those that come with triad.
	Saved      func() ([]results.Named, error)
	Now        func() time.Time
	HeaderTime time.Duration // 0: five seconds
	AnswerTime time.Duration // of the database; 0: twenty seconds
}

// Server shows one database.
type Server struct {
	store   *results.Store
	options Options
	guard
	http    *http.Server
	queries chan struct{} // slots for typed SQL
}

// New returns a server that answers on a listener, which must be of this machine only.
func New(store *results.Store, listener net.Listener, o Options) (*Server, error) {
	g, err := newGuard(listener.Addr())
	if err != nil {
		return nil, err
	}
	o.HeaderTime, o.AnswerTime = cmp.Or(o.HeaderTime, headerTime), cmp.Or(o.AnswerTime, answerTime)
	if o.Saved == nil {
		o.Saved = func() ([]results.Named, error) { return results.NamedQueries(o.Now()) }
	}
	s := &Server{store: store, options: o, guard: g, queries: make(chan struct{}, queriesAtOnce)}
	s.http = &http.Server{
		Handler: s.guarded(http.HandlerFunc(s.answer)), ReadHeaderTimeout: o.HeaderTime,
		ReadTimeout: 2 * o.HeaderTime, WriteTimeout: o.AnswerTime + headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeaderBytes, ErrorLog: log.New(io.Discard, "", 0),
	}
	return s, nil
}

// Serve answers until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

var ulid = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`)

// answer writes the page that a path names.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.options.AnswerTime)
	defer cancel()
	var document report.Document
	var err error
	internal := panics.Call(func() {
		kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if kind == "live" && ulid.MatchString(name) {
			err = s.progress(ctx, w, name)
			return
		}
		if format, is := queryFormats[r.URL.Path]; is {
			err = s.download(ctx, w, r.URL.Query(), format)
			return
		}
		document, err = s.document(ctx, kind, name, r.URL.Query())
		if err == nil {
			err = s.write(w, http.StatusOK, document, r.URL.Path)
		}
	})
	if internal == nil && err == nil {
		return
	}
	code, why := s.failure(internal, err)
	title := "Something went wrong"
	switch code {
	case http.StatusNotFound:
		title = "No such page"
	case http.StatusBadRequest:
		title = "This was refused"
	}
	document = report.FailureDocument(title, why, s.store.Path(), s.options.Now())
	if s.write(w, code, document, r.URL.Path) != nil {
		http.Error(w, why, code)
	}
}

// failure returns the answer for an error: its status code and its sentence.
func (s *Server) failure(internal, err error) (code int, why string) {
	var missing missingError
	var refused Refused
	switch {
	case internal != nil:
		return http.StatusInternalServerError, "something went wrong inside triad: " + internal.Error()
	case errors.As(err, &refused):
		return http.StatusBadRequest, refused.Error()
	case errors.As(err, &missing):
		return http.StatusNotFound, missing.Error()
	case errors.Is(err, results.ErrNotFound):
		return http.StatusNotFound, err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable,
			fmt.Sprintf("the database did not answer within %v: ask for less", s.options.AnswerTime)
	}
	return http.StatusInternalServerError, err.Error()
}

// write writes a page with a policy that allows its own scripts and styles.
func (s *Server) write(w http.ResponseWriter, code int, document report.Document, path string) error {
	return writePage(w, code, document, path)
}

func writePage(w http.ResponseWriter, code int, document report.Document, path string) error {
	nonce := newToken()
	var page bytes.Buffer
	if err := document.Serve(&page, nonce, path); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; img-src data:; style-src "+
		"'nonce-%[1]s'; script-src 'nonce-%[1]s'; connect-src 'self'; form-action 'self'; base-uri 'none'; "+
		"frame-ancestors 'none'", nonce))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = page.WriteTo(w) // the client may be gone
	return nil
}

// missingError is the error of a page that does not exist.
type missingError string

func (e missingError) Error() string { return string(e) }

// homeLists ends the sentence of a page that is not there.
const homeLists = "The home page lists the newest sessions."

// orMissing replaces the error that nothing has an ID by a sentence for a page.
func orMissing(err error, what, id string) error {
	if errors.Is(err, results.ErrNotFound) {
		return missingError(fmt.Sprintf("No %s in this database has the ID %s. %s", what, id, homeLists))
	}
	return err
}

// document reads the contents of a page.
func (s *Server) document(
	ctx context.Context, kind, name string, asked url.Values,
) (report.Document, error) {
	now := s.options.Now()
	switch {
	case kind == "" && name == "":
		return s.sessions(ctx, asked.Get("before"))
	case kind == "runs" && name == "":
		return s.runs(ctx, asked)
	case kind == "diff" && name == "":
		return s.diff(ctx, asked.Get("a"), asked.Get("b"))
	case kind == "query" && name == "" && s.options.Query != nil:
		return s.query(ctx, asked)
	case kind == "findings" && name == "":
		wrong, _, err := s.store.List(ctx, results.Filter{Bad: true, Limit: perPage})
		return report.FindingsDocument(s.options.Findings, wrong, s.store.Path(), now), err
	case kind == "run" && ulid.MatchString(name):
		run, err := s.store.Show(ctx, name)
		if err != nil {
			return report.Document{}, orMissing(err, "run", name)
		}
		if run.Record.Diagnosis, err = s.store.Diagnosis(ctx, run.Record); err != nil {
			return report.Document{}, err
		}
		past, err := s.past(ctx, run.Record, asked.Get("before"))
		return report.RunDocument(run, past, s.store.Path(), now), err
	case kind == "session" && ulid.MatchString(name):
		page, err := pages.OfSession(ctx, s.store, name, now)
		if err != nil {
			return report.Document{}, orMissing(err, "session", name)
		}
		page.Linked = true
		document := page.Document()
		if p, err := s.store.Progress(ctx, name); err == nil && p.State == "running" {
			document = document.WithProgress(p, "/live/"+name)
		}
		return document, nil
	case kind == "op" && name != "":
		page, err := pages.OfOperator(ctx, s.store, name, now)
		if err == nil && page.Nothing != "" {
			err = missingError(page.Nothing)
		}
		page.Linked = true
		return page.Document(), err
	}
	return report.Document{}, missingError(fmt.Sprintf("There is no page at /%s. %s",
		strings.Trim(kind+"/"+name, "/"), homeLists))
}

// progress writes how far a session is, as JSON.
func (s *Server) progress(ctx context.Context, w http.ResponseWriter, id string) error {
	p, err := s.store.Progress(ctx, id)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"running": p.State == "running", "planned": p.Planned, "ended": p.Ended,
		"words": report.ProgressWords(p),
	})
}

// past returns the runs of the same implementation on the same case as a run, before the one whose ID is
// before.
func (s *Server) past(ctx context.Context, r record.Record, before string) (report.Past, error) {
	key := r.Case.Key()
	records, total, err := s.store.History(ctx, key, r.Impl, before, perPage)
	past := report.Past{Records: records, Total: total}
	if err == nil && before != "" {
		_, past.Total, err = s.store.History(ctx, key, r.Impl, "", 1)
	}
	if len(records) > 0 && total > len(records) {
		past.Older = "/run/" + r.ID + "?before=" + records[0].ID + "#history"
	}
	return past, err
}

// sessions lists the newest sessions before the one whose ID is before.
func (s *Server) sessions(ctx context.Context, before string) (report.Document, error) {
	all, err := s.store.Sessions(ctx, before, perPage+1)
	if err != nil {
		return report.Document{}, err
	}
	older := ""
	if len(all) > perPage {
		all = all[:perPage]
		older = "/?before=" + all[perPage-1].Session.ID
	}
	home := report.Home{Sessions: all, After: before != "", Older: older}
	if !home.After {
		if home.Standing, err = s.store.Standings(ctx); err != nil {
			return report.Document{}, err
		}
	}
	return report.HomeDocument(home, s.store.Path(), s.options.Now()), nil
}

// runs lists the runs that match the parameters. An invalid parameter matches no run, and the page says so.
func (s *Server) runs(ctx context.Context, asked url.Values) (report.Document, error) {
	shown := report.RunsAsked{
		Op: asked.Get("op"), Impl: asked.Get("impl"), DType: asked.Get("dtype"), Pass: asked.Get("pass"),
		Status: asked.Get("status"), Since: asked.Get("since"), Session: asked.Get("session"),
	}
	found, err := s.store.Recorded(ctx)
	if err != nil {
		return report.Document{}, err
	}
	list := report.Runs{Asked: shown, Operators: found.Ops, DTypes: found.DTypes}
	f := results.Filter{Session: shown.Session, Before: asked.Get("before"), Limit: perPage}
	for _, part := range []struct {
		into  *[]string
		value string
	}{{&f.Op, shown.Op}, {&f.Impl, shown.Impl}, {&f.DType, shown.DType}} {
		if part.value != "" {
			*part.into = []string{part.value}
		}
	}
	wrong := readFilter(&f, shown, s.options.Since)
	if wrong != nil {
		return report.RunsDocument(list, s.store.Path(), s.options.Now()).WithReason(wrong.Error()), nil
	}
	here := 0 // on this page and on older ones
	if list.Records, here, err = s.store.List(ctx, f); err != nil {
		return report.Document{}, err
	}
	if list.Total = here; f.Before != "" {
		f.Before, f.Limit = "", 1
		if _, list.Total, err = s.store.List(ctx, f); err != nil {
			return report.Document{}, err
		}
	}
	list.Newer = list.Total - here
	asked.Del("before")
	if list.Newer > 0 {
		list.Newest = "/runs?" + asked.Encode()
	}
	if n := len(list.Records); here > n && n > 0 {
		asked.Set("before", list.Records[n-1].ID)
		list.Older = "/runs?" + asked.Encode()
	}
	return report.RunsDocument(list, s.store.Path(), s.options.Now()), nil
}

// readFilter parses what is not plain text: pass, status and time.
func readFilter(f *results.Filter, shown report.RunsAsked, since func(string) (time.Time, error)) error {
	if shown.Pass != "" {
		if err := f.Pass.UnmarshalText([]byte(shown.Pass)); err != nil {
			return err
		}
	}
	switch shown.Status {
	case "":
	case "bad":
		f.Bad = true
	default:
		status, err := op.ParseStatus(shown.Status)
		if err != nil {
			return err
		}
		f.Status = []op.Status{status}
	}
	if shown.Since == "" {
		return nil
	}
	var err error
	f.Since, err = since(shown.Since)
	return err
}

// diff compares two sides; errors of the sides are reported on the page.
func (s *Server) diff(ctx context.Context, a, b string) (report.Document, error) {
	now, path := s.options.Now(), s.store.Path()
	newest, err := s.store.Sessions(ctx, "", mostOffered)
	if err != nil || a == "" && b == "" {
		return report.DiffDocument(nil, a, b, "", newest, path, now), err
	}
	var sides [2]resultdiff.Side
	for i, name := range []string{a, b} {
		var err error
		if sides[i], err = s.options.Side(ctx, name); err != nil {
			return report.DiffDocument(nil, a, b, err.Error(), newest, path, now), nil
		}
	}
	page := pages.OfDiff(sides[0], sides[1], resultdiff.Options{}, path, now)
	return report.DiffDocument(&page, a, b, "", newest, path, now), nil
}
