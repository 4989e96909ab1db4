"""What gunicorn serves in the HTTP benchmark."""

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
