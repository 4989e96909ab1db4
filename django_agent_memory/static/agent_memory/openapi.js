"use strict";

{
  const page = document.getElementById("swagger-ui");

  SwaggerUIBundle({
    url: page.dataset.address,
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    // It would send the address of the document to a host outside.
    validatorUrl: null,
    requestInterceptor: (request) => {
      const here = new URL(request.url, document.baseURI).origin === location.origin;
      if (here && !["GET", "HEAD", undefined].includes(request.method)) {
        request.headers["X-CSRFToken"] = page.dataset.token;
      }
      return request;
    },
  });
}
