package youtube_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/fetch"
)

// hostileRows are answers that no API should give, and their expected treatment: a refusal by name, or all but the
// malformed items.
func hostileRows(t *testing.T) []row {
	const whole = `{"nextPageToken":"T","items":[{"id":"v","snippet":{"title":"t"}}]}`
	rows := []row{
		{"100 and 103 first", "", hijacked("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 66\r\n\r\n" + whole), "", ""},
		{"100 for ever", "", hijacked(strings.Repeat("HTTP/1.1 100 Continue\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n", 1000)), fetch.Broken, ""},
		{"101", "", hijacked("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + whole), fetch.Broken, ""},
		{"201", "", respond(201, whole), fetch.Broken, ""},
		{"204", "", respond(204, ""), fetch.Broken, ""},
		{"206", "", respond(206, whole), fetch.Broken, ""},
		{"302 to another host", "", http.RedirectHandler("http://192.0.2.1/?key="+canary, http.StatusFound).ServeHTTP, fetch.Broken, ""},
		{"304", "", respond(304, ""), fetch.Broken, ""},
		{"307 to itself", "", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
		}, fetch.Broken, ""},
		{"502 HTML", "", respond(502, "<!DOCTYPE html><title>Error 502 (Server Error)!!1</title>"), fetch.Broken, ""},
		{"599", "", respond(599, whole), fetch.Broken, ""},
		{"999", "", respond(999, whole), fetch.Broken, ""},
		{"50 MB", "", filled(50 << 20), fetch.Broken, ""},
		{"50 MB, announced", "", announced(50 << 20), fetch.Broken, ""},
		{"50 MB with 403", "", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403); filled(50<<20)(w, r) }, fetch.Broken, ""},
		{"gzip of 24 MiB in 24 KiB", "", bomb(t), fetch.Broken, ""},
		{"header of 128 KiB", "", hijacked("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 128<<10) + "\r\nContent-Length: 66\r\n\r\n" + whole), fetch.Broken, ""},
		{"closed at once", "", hijacked(""), fetch.Broken, ""},
		{"cut in the body", "", hijacked("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + whole), fetch.Broken, ""},
	}
	for _, body := range []struct {
		name, text string
		verdict    fetch.CallVerdict
	}{
		{"empty", "", fetch.Broken},
		{"space", " \n", fetch.Broken},
		{"an array", "[]", fetch.Broken},
		{"text", `"ok"`, fetch.Broken},
		{"truncated JSON", whole[:len(whole)-10], fetch.Broken},
		{"two documents", whole + whole, fetch.Broken},
		{"HTML", "<!doctype html><title>Sign in</title>", fetch.Broken},
		{"null", "null", fetch.Broken},
		{"an error", envelope(403, "quotaExceeded", "", ""), fetch.Broken},
		{"no list", "{}", fetch.Broken},
		{"a list of null", `{"items":null}`, fetch.Broken},
		{"a list that is none", `{"items":{}}`, fetch.Broken},
		{"an endless list", `{"items":[{}` + strings.Repeat(",{}", 200_000) + "]}", fetch.Broken},
		{"a search's list", `{"items":[{"id":{"videoId":"v"}}]}`, fetch.Broken},
		{"deep nesting, cut", `{"items":` + strings.Repeat("[", 100_000), fetch.Broken},
		{"deep nesting", `{"items":[],"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}", fetch.Broken},
		{"51 items", `{"items":[{}` + strings.Repeat(",{}", 50) + "]}", fetch.Broken},
		{"a list of numbers", `{"items":[1,2]}`, fetch.Broken},
		{"a list of lists", `{"items":[[]]}`, fetch.Broken},
		{"ids of the wrong type", `{"items":[{"id":7}]}`, fetch.Broken},
		{"a title of the wrong type", `{"items":[{"id":"v","snippet":{"title":["t"]}}]}`, ""},
		{"a token of the wrong type", `{"nextPageToken":7,"items":[]}`, fetch.Broken},
		{"a token of 1 MiB", `{"nextPageToken":"` + strings.Repeat("T", 1<<20) + `","items":[]}`, fetch.Broken},
		{"a huge count", `{"items":[{"id":"v","statistics":{"viewCount":"99999999999999999999"}}]}`, ""},
		{"a huge number", `{"items":[{"id":"v","statistics":{"viewCount":1e999}}]}`, ""},
		{"a negative count", `{"items":[{"id":"v","statistics":{"viewCount":"-1"}}]}`, ""},
		{"a long duration", `{"items":[{"id":"v","contentDetails":{"duration":"P999999999999D"}}]}`, ""},
		{"tags of 100 KiB", `{"items":[{"id":"v","snippet":{"tags":[""` + strings.Repeat(`,""`, 40_000) + `]}}]}`, ""},
		{"not UTF-8", "{\"items\":[{\"id\":\"good\"},{\"id\":\"v\",\"snippet\":{\"title\":\"\xff\xc0\x80\"}}]}", ""},
		{"UTF-16", "\xff\xfe{\x00}\x00", fetch.Broken},
		{"a byte order mark", "\ufeff" + whole, fetch.Broken},
		{"NUL outside a string", whole + "\x00", fetch.Broken},
		{"NUL in a string", `{"items":[{"id":"v","snippet":{"title":"a\u0000b"}}]}`, ""},
		{"half a surrogate pair", `{"items":[{"id":"v","snippet":{"title":"a\ud83db"}}]}`, ""},
		{"the same id twice", `{"items":[{"id":"v"},{"id":"v"}]}`, ""},
		{"an empty list", `{"items":[]}`, ""},
		{"a new token every time", whole, ""},
	} {
		rows = append(rows, row{"200 " + body.name, "", respond(200, body.text), body.verdict, ""})
	}
	for _, asks := range []string{"videos", "counts", "search", "channel", "handle", "uploads", "categories"} {
		for _, body := range []string{"", "<html>", `{"items":[`, `{"items":{}}`, `{"items":["v"]}`, `{"items":[{"id":[],"snippet":7}]}`, "{}"} {
			rows = append(rows, row{"200 " + strconv.Quote(body), asks, respond(200, body), fetch.Broken, ""})
		}
	}
	return append(rows,
		row{"200 a negative count", "counts", respond(200, `{"items":[{"id":"v","statistics":{"likeCount":"-1"}}]}`), "", ""},
		row{"200 a negative count", "channel", respond(200, `{"items":[{"id":"UC1","statistics":{"videoCount":"-1"}}]}`), "", ""},
		row{"200 a title of the wrong type", "channel", respond(200, `{"items":[{"id":"UC1","snippet":{"title":7}}]}`), fetch.Broken, ""},
		row{"200 two channels", "handle", respond(200, `{"items":[{"id":"UC1"},{"id":"UC2"}]}`), fetch.Broken, ""},
		row{"200 another channel", "channel", respond(200, `{"items":[{"id":"UC2"}]}`), fetch.Broken, ""},
		row{"200 no channel", "channel", respond(200, `{"kind":"youtube#channelListResponse"}`), fetch.Rejected, ""},
		row{"200 301 categories", "categories", respond(200, `{"items":[{"id":"1"}`+strings.Repeat(`,{"id":"1"}`, 300)+`]}`), fetch.Broken, ""},
	)
}

// hijacked answers with raw bytes and resets the connection.
func hijacked(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, raw)
		if raw == "" {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
}

// filled answers with n bytes, or as many as the client takes.
func filled(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		spaces := bytes.Repeat([]byte(" "), 1<<20)
		for range n >> 20 {
			if _, err := w.Write(spaces); err != nil {
				return
			}
		}
	}
}

func announced(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(n))
		filled(n)(w, r)
	}
}

// bomb is small on the wire, and says so: a gzip file may have many members, one after the other.
func bomb(t *testing.T) http.HandlerFunc {
	var member bytes.Buffer
	zip := gzip.NewWriter(&member)
	_, _ = zip.Write(bytes.Repeat([]byte(" "), 1<<20))
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	packed := bytes.Repeat(member.Bytes(), 24)
	if len(packed) > 30<<10 {
		t.Fatalf("%d bytes are no bomb", len(packed))
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(packed)))
		_, _ = w.Write(packed)
	}
}
