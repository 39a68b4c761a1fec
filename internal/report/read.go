package report

import (
	"context"
	"errors"
	"net/url"
)

// Errors that the functions of a Library return; compare with errors.Is. Their texts are shown to visitors.
var (
	ErrBadRequest = errors.New("bad request")
	ErrNotFound   = errors.New("not found")
)

// Library reads the documents that the API and the pages show. Its functions are safe for concurrent use. Parameters are
// those of a URL, named like the command's flags with '_' for '-'; unknown ones are refused.
type Library struct {
	Search func(ctx context.Context, params url.Values) (SearchDocument, error)
	Chart  func(ctx context.Context, region string, params url.Values) (MovesDocument, error)
	Video  func(ctx context.Context, id string, params url.Values) (HistoryDocument, error)
	// Regions lists the charted regions, in the order of the config.
	Regions func(ctx context.Context) (RegionsDocument, error)
	Slots   func(ctx context.Context, params url.Values) ([]SlotDocument, error) // all of them, newest first
}
