// Package tracing sends spans to an OpenTelemetry collector, by OTLP over HTTP. It follows the standard's variables,
// OTEL_EXPORTER_OTLP_ENDPOINT and others: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
//
// If the collector is down, slow or wrong, spans are lost, but nothing waits or fails.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

const (
	sendEvery  = time.Second     // how often spans are sent
	sendWithin = 2 * time.Second // for one sending
)

// Tracer sends spans. A nil Tracer is off.
type Tracer struct {
	provider *trace.TracerProvider
	failed   func(error) // logs an error, once
}

// Endpoint returns where spans are sent: what the standard's variables say or, if none is set, the config; "":
// nowhere. It returns an error if that is not a URL.
func Endpoint(configured string) (string, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return "", nil
	}
	for _, from := range []struct{ name, address, path string }{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "v1/traces"},
		{"otlp_endpoint", configured, "v1/traces"},
	} {
		if from.address == "" {
			continue
		}
		u, err := url.Parse(from.address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", fmt.Errorf("%s is not a URL such as http://127.0.0.1:4318", from.name)
		}
		return u.JoinPath(from.path).String(), nil
	}
	return "", nil
}

// Open returns a Tracer that sends to an endpoint; nil if that is "". A failure to send is logged once, never with the
// endpoint, which may hold a secret.
func Open(ctx context.Context, endpoint, version string, log *slog.Logger) (*Tracer, error) {
	if endpoint == "" {
		return nil, nil //nolint:nilnil // off
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("send traces: %s", withoutURL(err, endpoint))
	}
	// Wrong parts of OTEL_RESOURCE_ATTRIBUTES are left out.
	about, _ := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ingest"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithFromEnv())
	var once sync.Once
	failed := func(err error) {
		once.Do(func() { log.WarnContext(ctx, "traces cannot be sent", slog.String("error", withoutURL(err, endpoint))) })
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
	return &Tracer{failed: failed, provider: trace.NewTracerProvider(
		trace.WithBatcher(exporter, trace.WithBatchTimeout(sendEvery), trace.WithExportTimeout(sendWithin)),
		trace.WithResource(about))}, nil
}

// withoutURL returns the text of the error without the URL that net/http and the exporter put into it.
func withoutURL(err error, endpoint string) string {
	if around, ok := errors.AsType[*url.Error](err); ok {
		err = around.Err
	}
	return strings.ReplaceAll(err.Error(), endpoint, "the collector")
}

// Span begins a span inside that of ctx. end ends it, with attributes; an error becomes its status.
func (t *Tracer) Span(ctx context.Context, name string) (inside context.Context, end func(err error, attrs ...slog.Attr)) {
	ctx, span := t.provider.Tracer("github.com/trendvidstream/ingest").Start(ctx, name)
	return ctx, func(err error, attrs ...slog.Attr) {
		for _, a := range attrs {
			span.SetAttributes(attributeOf(a))
		}
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

func attributeOf(a slog.Attr) attribute.KeyValue {
	switch v := a.Value; v.Kind() {
	case slog.KindInt64:
		return attribute.Int64(a.Key, v.Int64())
	case slog.KindBool:
		return attribute.Bool(a.Key, v.Bool())
	case slog.KindTime:
		return attribute.String(a.Key, v.Time().UTC().Format(time.RFC3339))
	default:
		return attribute.String(a.Key, v.String())
	}
}

// Close sends what was not sent yet, until ctx is done at the latest. A nil Tracer has nothing to send.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		t.failed(err)
	}
}
