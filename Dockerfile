# The package on CPUs, as a user without rights who can write nothing:
#   docker build -t solitaire-env .
#   docker run --rm --read-only -p 8000:8000 solitaire-env
#   docker run --rm --read-only solitaire-env watch busy-aces --policy shipped --deal 29
FROM python:3.13-slim

ENV PATH=/opt/solitaire-env/bin:$PATH

COPY pyproject.toml constraints.txt README.md LICENSE /src/
COPY native /src/native
COPY solitaire_env /src/solitaire_env
RUN python -m venv /opt/solitaire-env \
    && python -m pip install --no-cache-dir --constraint /src/constraints.txt /src \
    && rm -r /src

USER 65534:65534
EXPOSE 8000
ENTRYPOINT ["python", "-m", "solitaire_env"]
CMD ["serve", "--host", "0.0.0.0"]
