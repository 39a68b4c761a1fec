package web

import (
	"context"
	"errors"
	"net/url"

	"github.com/trendvidstream/ingest/internal/report"
)

// Errors that the functions of a Library may return; compare with errors.Is. Their texts are shown to the client.
var (
	ErrBadRequest = errors.New("bad request")
	ErrNotFound   = errors.New("not found")
)

// Library reads what the API serves. Its functions must be safe for concurrent use. Parameters are those of the URL,
// named like the command's flags with '_' for '-'; unknown ones are refused.
type Library struct {
	Search func(ctx context.Context, params url.Values) (report.SearchDocument, error)
	Chart  func(ctx context.Context, region string, params url.Values) (report.ChartDocument, error)
	Video  func(ctx context.Context, id string, params url.Values) (report.HistoryDocument, error)
	Slots  func(ctx context.Context, params url.Values) ([]report.SlotDocument, error) // all of them, newest first
	// Version changes whenever anything is written that Search reads; nil: not known.
	Version func(ctx context.Context) (string, error)
}
