"""Assembly: settings, web application, sign-in, worker and command line."""
