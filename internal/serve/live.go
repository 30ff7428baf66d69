package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"

	"triad/internal/panics"
	"triad/internal/report"
)

// Live serves one page that changes, on this machine alone. Show replaces it; its caller is the one writer.
type Live struct {
	guard
	shown    atomic.Pointer[shown]
	http     *http.Server
	listener net.Listener
}

// shown is a page with its state: a number that rises with each page. It is made when it is asked for, since
// most pages are replaced before.
type shown struct {
	make  func(address, state string) report.Document
	state int64
}

func (s *shown) document() report.Document { return s.make(contentsAddress, fmt.Sprint(s.state)) }

// contentsAddress is the path at which a page with an older state gets the contents of the newest one.
const contentsAddress = "/contents"

// NewLive returns a server that answers on a listener, which must be of this machine only.
func NewLive(listener net.Listener) (*Live, error) {
	g, err := newGuard(listener.Addr())
	if err != nil {
		return nil, err
	}
	l := &Live{guard: g, listener: listener}
	l.Show(func(string, string) report.Document { return report.Document{} })
	l.http = &http.Server{
		Handler: l.guarded(http.HandlerFunc(l.answer)), ReadHeaderTimeout: headerTime,
		ReadTimeout: 2 * headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeaderBytes, ErrorLog: log.New(io.Discard, "", 0),
	}
	return l, nil
}

// Show replaces the page. make gets the address at which the page asks for newer contents, and its state.
func (l *Live) Show(make func(address, state string) report.Document) {
	next := int64(1)
	if old := l.shown.Load(); old != nil {
		next = old.state + 1
	}
	l.shown.Store(&shown{make, next})
}

// Serve answers until the context ends.
func (l *Live) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { l.http.Close() })
	defer stop()
	if err := l.http.Serve(l.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

func (l *Live) answer(w http.ResponseWriter, r *http.Request) {
	now := l.shown.Load()
	switch r.URL.Path {
	case contentsAddress:
		if r.URL.Query().Get("state") == fmt.Sprint(now.state) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		answerOr500(w, func() error { return now.document().Contents(w) })
	case "/":
		answerOr500(w, func() error { return writePage(w, http.StatusOK, now.document(), "/") })
	default:
		http.Error(w, "this server has one page: /", http.StatusNotFound)
	}
}

// answerOr500 writes an answer, or that something went wrong inside triad.
func answerOr500(w http.ResponseWriter, write func() error) {
	var err error
	internal := panics.Call(func() { err = write() })
	if err = errors.Join(internal, err); err != nil {
		http.Error(w, "something went wrong inside triad: "+err.Error(), http.StatusInternalServerError)
	}
}
