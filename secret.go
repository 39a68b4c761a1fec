package ingest

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that must never be seen: printing it with any verb gives "***". Only Reveal returns it, and only the
// transport that sends it may call that.
type Secret struct{ text string }

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the hidden text.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether nothing is hidden.
func (s Secret) IsZero() bool { return s.text == "" }

const masked = "***"

// Format implements fmt.Formatter. A Stringer alone would not do, as %d prints the struct.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// String implements fmt.Stringer.
func (Secret) String() string { return masked }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText implements encoding.TextMarshaler, which JSON and YAML use.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }
