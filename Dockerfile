# A static binary, CA certificates, and an unprivileged user.
#
#   docker build -t ingest --build-arg VERSION="$(git describe --tags --always)" .
#   install -m 400 -o 65532 KEYFILE /etc/ingest/youtube.key
#   docker run --rm -v ingest:/var/lib/ingest -v /etc/ingest/youtube.key:/key:ro \
#       ingest run --quiet --key-file /key
#
# "run" fetches the due slots and exits: start it from a timer every five minutes. Exit code 75 means that
# the quota is used up for now, and is no failure. The store and the ledger of quota live in the volume:
# without it every container believes that nothing was spent.
# A tag can be moved to another image. For a build that can be repeated name the digest that docker pull prints:
#   --build-arg BASE=golang:1.26-alpine@sha256:...
ARG BASE=golang:1.26-alpine
FROM ${BASE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN sh tools/build.sh "${VERSION}" /out/ingest \
    && mkdir -m 0700 -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ingest /ingest
COPY --from=build --chown=65532:65532 /out/data /var/lib/ingest
USER 65532:65532
VOLUME /var/lib/ingest
ENTRYPOINT ["/ingest"]
CMD ["run", "--quiet"]
