package main

import (
	"context"
	"io"
)

func loadOnce(ctx context.Context, o options, stdout io.Writer) error { return nil }
func (b *bench) writing(ctx context.Context) error                    { return nil }
func (b *bench) size(ctx context.Context) error                       { return nil }
func (b *bench) processes(ctx context.Context) error                  { return nil }
