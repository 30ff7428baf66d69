package serve

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"triad/internal/report"
)

// Limits of a request.
const (
	mostHeaderBytes = 16 << 10
	mostURL         = 2048
	mostValue       = 200 // of a parameter
	mostQueryURL    = 12 << 10
	mostStatement   = 4000
	atOnce          = 8   // pages that are made at the same time
	mostReaders     = 128 // answers being sent at the same time
)

// guard refuses requests that no page of ours makes, and those without the token.
type guard struct {
	hosts               []string
	cookie, token, port string
}

// newGuard returns the guard of a server at an address, which must be of this machine only.
func newGuard(address net.Addr) (guard, error) {
	hosts, port, err := hostsOf(address)
	return guard{hosts: hosts, cookie: "triad_" + port, token: newToken(), port: port}, err
}

// Address returns the address to open, with the token.
func (g *guard) Address() string { return "http://127.0.0.1:" + g.port + "/?token=" + g.token }

// plainPath matches the paths of pages: names that do not begin with a dot, and nothing encoded.
var plainPath = regexp.MustCompile(`^/(?:[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)?)?$`)

// refusal is the reason why a request is not answered.
type refusal struct {
	code int
	why  string
}

// check refuses what no page of ours requests: another host or origin, another site, a method that could
// change something, a body, an odd path or parameter, a request without the token.
func (g *guard) check(r *http.Request) *refusal {
	switch origin := r.Header.Values("Origin"); {
	case !slices.Contains(g.hosts, r.Host):
		return &refusal{
			http.StatusForbidden,
			"the host is not this server's: open the address that triad printed",
		}
	case len(origin) > 1 || len(origin) == 1 && origin[0] != "http://"+r.Host:
		return &refusal{http.StatusForbidden, "the request comes from another origin"}
	case !slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site")):
		return &refusal{
			http.StatusForbidden,
			"the request comes from another site: copy the address into the " +
				"browser instead",
		}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return &refusal{http.StatusMethodNotAllowed, "pages can only be read: GET"}
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0 || r.Header.Get("Upgrade") != "":
		return &refusal{http.StatusBadRequest, "pages take no body"}
	case len(r.RequestURI) > longest(r.URL.Path):
		return &refusal{
			http.StatusRequestURITooLong,
			fmt.Sprintf("an address has at most %d bytes", longest(r.URL.Path)),
		}
	case r.URL.Host != "" || r.URL.RawPath != "" || strings.ContainsAny(path(r), "%;\\") ||
		!plainPath.MatchString(r.URL.Path):
		return &refusal{http.StatusBadRequest, "no page has such a path"}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &refusal{http.StatusBadRequest, "the parameters cannot be read"}
	}
	for name, all := range values {
		if len(all) > 1 || !fits(r.URL.Path, name, all[0]) {
			return &refusal{
				http.StatusBadRequest,
				fmt.Sprintf("the parameter %q is not known here, is given "+
					"twice, or is too long", name),
			}
		}
	}
	return nil
}

// path returns the path as it was sent.
func path(r *http.Request) string {
	sent, _, _ := strings.Cut(r.RequestURI, "?")
	return sent
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// longest returns how long the address of a page may be.
func longest(path string) int {
	if isQuery(path) {
		return mostQueryURL
	}
	return mostURL
}

// isQuery reports whether a path is of a query or of its result in another format.
func isQuery(path string) bool { return path == "/query" || queryFormats[path] != "" }

// fits reports whether a page takes a parameter with such a value. SQL is longer than others, and has lines.
func fits(path, name, value string) bool {
	if isQuery(path) && name == "sql" {
		value = strings.NewReplacer("\r", "", "\n", "", "\t", "").Replace(value)
		return len(value) <= mostStatement && !strings.ContainsFunc(value, control)
	}
	if len(value) > mostValue || strings.ContainsFunc(value, control) {
		return false
	}
	if parameter, is := strings.CutPrefix(name, report.ParamPrefix); is && isQuery(path) {
		return parameterName.MatchString(parameter)
	}
	return slices.Contains(parameters(path), name) || name == "token"
}

// parameterName matches the names of parameters of SQL.
var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]{0,60}$`)

// parameters returns the parameters that a page takes.
func parameters(path string) []string {
	switch path {
	case "/runs":
		return []string{"op", "impl", "dtype", "pass", "status", "since", "session", "before"}
	case "/diff":
		return []string{"a", "b"}
	case "/":
		return []string{"before"}
	case contentsAddress:
		return []string{"state"}
	case "/query", "/query.csv", "/query.json":
		return []string{"sql", "saved"}
	}
	if strings.HasPrefix(path, "/run/") {
		return []string{"before"}
	}
	return nil
}

// admits reports whether a request knows the token: by its cookie, or in its address, which sets the cookie
// and redirects to the address without it.
func (g *guard) admits(w http.ResponseWriter, r *http.Request) bool {
	if cookie, err := r.Cookie(g.cookie); err == nil && g.isToken(cookie.Value) {
		return true
	}
	values := r.URL.Query()
	if !g.isToken(values.Get("token")) {
		http.Error(w, "open the address that triad printed: it has the token that this browser lacks",
			http.StatusForbidden)
		return false
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	values.Del("token")
	to := url.URL{Path: r.URL.Path, RawQuery: values.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return false
}

func (g *guard) isToken(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) == 1
}

// whole buffers an answer until it is complete.
type whole struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

func (w *whole) WriteHeader(code int)        { w.code = cmp.Or(w.code, code) }
func (w *whole) Write(p []byte) (int, error) { return w.body.Write(p) }

// guarded answers requests that check and admits accept. A client that reads slowly, or not at all, occupies
// its own answer, but keeps no other page from being made.
func (g *guard) guarded(answer http.Handler) http.Handler {
	slots, readers := make(chan struct{}, atOnce), make(chan struct{}, mostReaders)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if no := g.check(r); no != nil {
			h.Set("Connection", "close")
			http.Error(w, no.why, no.code)
			return
		}
		if !g.admits(w, r) {
			return
		}
		made := &whole{ResponseWriter: w}
		if !within(readers, func() {
			if !within(slots, func() { answer.ServeHTTP(made, r) }) {
				http.Error(made, "too many requests at once: try again", http.StatusServiceUnavailable)
			}
			w.WriteHeader(cmp.Or(made.code, http.StatusOK))
			_, _ = made.body.WriteTo(w) // the client may be gone
		}) {
			http.Error(w, "too many readers at once: try again", http.StatusServiceUnavailable)
		}
	})
}

// within does work in a slot, and reports whether one was free.
func within(slots chan struct{}, work func()) bool {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		work()
		return true
	default:
		return false
	}
}

// hostsOf returns the host names of an address, which must be of this machine only.
func hostsOf(address net.Addr) (hosts []string, port string, err error) {
	tcp, is := address.(*net.TCPAddr)
	if !is || !tcp.IP.IsLoopback() {
		return nil, "", fmt.Errorf(
			"serve on %v: only addresses of this machine alone (127.0.0.1, ::1) are served",
			address,
		)
	}
	port = fmt.Sprint(tcp.Port)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		hosts = append(hosts, host+":"+port)
		if tcp.Port == 80 { // which browsers leave out
			hosts = append(hosts, host)
		}
	}
	return hosts, port, nil
}

// newToken returns a word that nobody can guess.
func newToken() string { return rand.Text() }
