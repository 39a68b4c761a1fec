// Package hooks sends events to programs and web servers: a chart was saved, a series became stale, a backfill ended.
//
// The store writes each event in the transaction of its change, and keeps it until every hook has received it (package
// store, events.go). A Sender takes the events from there, in their order and by one process at a time for each hook,
// after the commit and without any lock: a hook that hangs or fails holds up nothing but itself. If a process
// dies before it has noted a delivery, the next process sends the event again: each arrives at least once.
package hooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/trendvidstream/ingest"
)

// Hook is a program or an address that receives events.
type Hook struct {
	Name string // unique among the hooks: its place among the events is kept under it
	On   []ingest.EventName
	Run  string // the program; "": the hook is an address
	// Secrets returns the address, which often holds a password, and the key of the signatures, "whsec_" and base64; zero:
	// messages are not signed. It is called for every event, so that a file may change. Its errors hold no secret.
	Secrets func() (address, key ingest.Secret, err error)
	// makes the body out of the message, or nothing if there is nothing to send; nil: the message is the body
	Body *gojq.Code
}

// Check returns why the hook cannot receive events now.
func (h Hook) Check() error {
	if h.Run != "" {
		return checkProgram(h.Run)
	}
	_, key, err := h.Secrets()
	if err == nil && !key.IsZero() {
		_, err = signingKey(key)
	}
	return err
}

// message is the message of an event, in the form of Standard Webhooks.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
type message struct {
	Type      ingest.EventName `json:"type"`
	Timestamp time.Time        `json:"timestamp"`
	Data      json.RawMessage  `json:"data"`
}

// body returns the body of a hook's message; nil if its Body makes nothing of the event.
func (h Hook) body(ctx context.Context, e ingest.Event) ([]byte, error) {
	text, err := json.Marshal(message{e.Name, e.At.UTC(), e.Data})
	if err != nil || h.Body == nil {
		return text, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	first, ok := h.Body.RunWithContext(ctx, value).Next()
	if !ok {
		return nil, nil
	}
	if err, ok := first.(error); ok {
		return nil, fmt.Errorf("body: %w", err)
	}
	if text, ok := first.(string); ok {
		return []byte(text), nil
	}
	return gojq.Marshal(first)
}

// signingKey decodes a secret of Standard Webhooks.
func signingKey(secret ingest.Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(secret.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("secret_file: does not hold whsec_ and 24 to 64 bytes in base64, " +
			"as printf 'whsec_%s' \"$(openssl rand -base64 32)\" makes")
	}
	return key, nil
}

// sign adds the headers of Standard Webhooks.
func sign(secret ingest.Secret, header http.Header, e ingest.Event, at time.Time, body []byte) error {
	stamp := strconv.FormatInt(at.Unix(), 10)
	header.Set("Webhook-Id", e.Key)
	header.Set("Webhook-Timestamp", stamp)
	if secret.IsZero() {
		return nil
	}
	key, err := signingKey(secret)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(e.Key + "." + stamp + "."))
	mac.Write(body)
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}
