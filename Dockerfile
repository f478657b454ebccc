FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY a2a_project a2a_project
COPY a2a_protocol a2a_protocol
COPY a2a_server a2a_server
COPY agent_runs agent_runs
RUN python -m venv /opt/a2a \
    && /opt/a2a/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM python:3.13-slim
RUN useradd --create-home --home-dir /var/lib/a2a --shell /usr/sbin/nologin a2a
COPY --from=build /opt/a2a /opt/a2a
COPY manage.py uvicorn-logging.json /srv/a2a/
ENV PATH=/opt/a2a/bin:$PATH \
    DATA_DIR=/var/lib/a2a \
    DJANGO_SETTINGS_MODULE=a2a_project.settings \
    PYTHONUNBUFFERED=1
WORKDIR /srv/a2a
USER a2a
EXPOSE 8000
# A worker gives a running segment 30 s before it releases it.
STOPSIGNAL SIGTERM
CMD ["python", "-m", "uvicorn", "a2a_project.asgi:application", \
     "--host=0.0.0.0", "--port=8000", "--no-proxy-headers", "--no-server-header", \
     "--no-access-log", "--log-config=uvicorn-logging.json", "--loop=uvloop", \
     "--http=a2a_project.http:BoundedHttpTools", "--ws=none", \
     "--timeout-graceful-shutdown=10"]
